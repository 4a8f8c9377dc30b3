/** A piece of a list that is read newest first. */
export interface Page {
  readonly limit: number;
  /** The id of the last line of the page before. */
  readonly before?: string;
}
