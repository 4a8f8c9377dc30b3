/** A pattern that a whole text must match. */
export interface Regex {
  /** As it was written. */
  readonly source: string;
  matches(text: string): boolean;
}
