/**
 * The work of one term: what `lead` functions and fenced transactions have under way. A release waits for it, and a node
 * whose last term's work still runs is not fit to lead again (R10).
 */
export class LeaderWork {
  private readonly controller = new AbortController();
  private readonly running = new Set<Promise<unknown>>();

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** The error of the work itself is its owner's to handle; here only its end counts. */
  track(work: Promise<unknown>): void {
    // Every fenced transaction comes through here: one promise, where catch().finally() would make four.
    const forget = (): void => {
      this.running.delete(settled);
    };
    const settled = work.then(forget, forget);
    this.running.add(settled);
  }

  /** Asks everything to stop, and resolves when it has. */
  async stop(reason: Error): Promise<void> {
    this.controller.abort(reason);
    // Work that stops may start a last transaction: wait until nothing is left.
    while (this.running.size > 0) await Promise.all(this.running);
  }
}
