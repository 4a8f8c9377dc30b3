import { DrainingError } from "../errors.js";

/** One piece of work under way. Disposing ends it; twice is once. */
export interface WorkGuard extends Disposable {
  readonly id: number;
}

/**
 * The work that a node has taken on. Entering checks and counts in one step, so that nothing slips in after a drain has
 * begun: `using work = node.work.enter()`.
 */
export class InFlightWork {
  private readonly running = new Set<number>();
  private readonly waiting: (() => void)[] = [];
  private nextId = 1;
  private open = true;

  get count(): number {
    return this.running.size;
  }

  get accepting(): boolean {
    return this.open;
  }

  enter(): WorkGuard {
    if (!this.open) throw new DrainingError();
    const id = this.nextId++;
    this.running.add(id);
    return {
      id,
      [Symbol.dispose]: () => {
        if (this.running.delete(id) && this.running.size === 0) for (const wake of this.waiting.splice(0)) wake();
      },
    };
  }

  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    const guard = this.enter();
    try {
      return await work();
    } finally {
      guard[Symbol.dispose]();
    }
  }

  /** Admits nothing more. */
  refuse(): void {
    this.open = false;
  }

  /** Takes a refusal back; whoever waited for the work to end waits no more. */
  admit(): void {
    this.open = true;
    for (const wake of this.waiting.splice(0)) wake();
  }

  /** Resolves when nothing is under way that a drain has to wait for: it has all ended, or work is admitted again. */
  async idle(): Promise<void> {
    if (this.running.size === 0 || this.open) return;
    await new Promise<void>((resolve) => this.waiting.push(resolve));
  }
}
