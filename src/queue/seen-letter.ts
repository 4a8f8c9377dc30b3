export interface LetterFilter {
  readonly queue?: string | undefined;
  readonly stage?: string | undefined;
  readonly lane?: string | undefined;
  /** The id of the last letter of the page before. */
  readonly before?: string | undefined;
  readonly limit: number;
}

/** A dead letter without its content: neither body nor headers, which may say as much. */
export interface SeenLetter {
  readonly id: string;
  readonly queue: string;
  readonly role: string;
  readonly stage: string;
  readonly lane: string;
  readonly position: number;
  readonly key: string | null;
  /** Of the body, in bytes. */
  readonly size: number;
  readonly reason: string;
  readonly attempts: number;
  readonly reclaims: number;
  /** Milliseconds since 1970, by the database's clock. */
  readonly diedAt: number;
  readonly redrivenAt: number | null;
  readonly redrivenTo: number | null;
}

export interface LetterBody {
  readonly headers: Readonly<Record<string, string>> | null;
  readonly body: Buffer;
}
