/**
 * A database that is not ours: messages are read from its tables and written to them. It has no part in the election, and
 * nothing in it is fenced; what it is asked to do is one statement, or one transaction.
 */
export interface OutsideDatabase {
  /** At most so many rows of a query that only reads, in its order. */
  read(query: string, most: number): Promise<readonly OutsideRow[]>;
  /** One statement in a transaction of its own. Answers how many rows it touched. */
  execute(statement: string, values: readonly OutsideParameter[]): Promise<number>;
  begin(): Promise<OutsideTransaction>;
  /** Ends every connection at once, also those that are used. */
  close(): Promise<void>;
}

export interface OutsideTransaction {
  run(statement: string, values: readonly OutsideParameter[]): Promise<void>;
  /** Throws an `unknown` failure where nobody said whether it was done. */
  commit(): Promise<void>;
  /** Never throws: a connection that is lost rolls back by itself. */
  rollback(): Promise<void>;
}

/** The names of the columns, and what is in them. */
export type OutsideRow = ReadonlyMap<string, OutsideValue>;

export interface OutsideValue {
  /** As the database writes it, and takes it back as a parameter. */
  readonly text: string | null;
  /** As JSON has it: numbers that it can hold exactly, bytes as base64, times as the database writes them. */
  readonly json: unknown;
  /** The bytes themselves, or those of the text. */
  readonly bytes: Buffer | null;
}

export type OutsideParameter = string | Buffer | null;

export interface OutsideOptions {
  readonly url: string;
  readonly connectTimeoutMs: number;
  readonly replyTimeoutMs: number;
  /** What the server shows of the connection. */
  readonly name: string;
}

/** Opens nothing yet: connections are made when they are needed. Throws BAD_SETTINGS where the URL is none. */
export type OpenOutside = (options: OutsideOptions) => OutsideDatabase;

/** `away`: it was not reached, or was lost before a commit; `refused`: it said no; `unknown`: the answer to a commit was lost. */
export class OutsideFailure extends Error {
  readonly kind: "away" | "refused" | "unknown";
  /** The SQLSTATE of a refusal. */
  readonly state: string | null;

  constructor(kind: OutsideFailure["kind"], message: string, state: string | null, cause: unknown) {
    super(message, { cause });
    this.name = "OutsideFailure";
    this.kind = kind;
    this.state = state;
  }
}
