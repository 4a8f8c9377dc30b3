import type { CommandLine } from "../command-line.js";

const askedToEnd: readonly NodeJS.Signals[] = ["SIGINT", "SIGTERM", "SIGHUP"];

/** A Ctrl-C often comes twice, from the terminal and from npm; only a later one is from somebody who is tired of waiting. */
const sameSignalMs = 1_500;

/** Why and when a demo ends. */
export class DemoEnding implements Disposable {
  private readonly ending = new AbortController();
  private readonly off: readonly (() => void)[];
  private failure: { readonly error: unknown } | null = null;
  private askedAt = 0;
  private hurry: () => void = () => undefined;

  constructor(cli: CommandLine) {
    this.off = [cli.onSignal(askedToEnd, () => this.ask()), cli.onCrash((error) => this.fail(error))];
  }

  /** Aborted when it is time to stop. */
  get signal(): AbortSignal {
    return this.ending.signal;
  }

  ask(): void {
    const now = performance.now();
    if (!this.signal.aborted) this.askedAt = now;
    else if (now - this.askedAt > sameSignalMs) this.hurry();
    this.ending.abort();
  }

  fail(error: unknown): void {
    this.failure ??= { error };
    this.ending.abort();
  }

  /** What to do for somebody who asks again while everything is being stopped. */
  onHurry(act: () => void): void {
    this.hurry = act;
  }

  rethrow(): void {
    if (this.failure !== null) throw this.failure.error;
  }

  [Symbol.dispose](): void {
    for (const stop of this.off) stop();
  }
}
