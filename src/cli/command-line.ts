/** Where text goes, and what is known of the screen behind it. */
export interface Output {
  write(text: string): void;
  readonly isTTY: boolean;
  /** Meaningless where it is no terminal. */
  readonly columns: number;
  readonly rows: number;
}

/** The keyboard, where there is one. */
export interface Input {
  readonly isTTY: boolean;
  /** The next line, or null at the end of the input. */
  readLine(): Promise<string | null>;
  /** Every key as it is pressed, until the returned function is called. */
  onKey(listener: (key: string) => void): () => void;
}

/**
 * All that a command sees of the process it runs in, so that tests can run one without a process. A command does not exit:
 * it returns, or throws.
 */
export interface CommandLine {
  readonly stdin: Input;
  readonly stdout: Output;
  readonly stderr: Output;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** Calls back at each of these signals, instead of ending, until the returned function is called. */
  onSignal(signals: readonly NodeJS.Signals[], listener: (signal: NodeJS.Signals) => void): () => void;
  /** Calls back when an error got past everybody: one that was thrown, or a promise that failed and that nobody waits for. */
  onCrash(listener: (error: unknown, origin: CrashOrigin) => void): () => void;
}

export type CrashOrigin = "exception" | "rejection";

/** Thrown by a command that has said all there is to say, and did not succeed. */
export class Ended extends Error {
  readonly exitCode: number;

  constructor(exitCode: number) {
    super(`The command ended with ${exitCode}.`);
    this.name = "Ended";
    this.exitCode = exitCode;
  }
}
