import { DrainingError } from "../errors.js";

/** One piece of work under way. Disposing ends it; twice is once. */
export interface WorkGuard extends Disposable {
  readonly id: number;
}

const usualRestMs = 100;

/**
 * The work that a node has taken on. Entering checks and counts in one step, so that nothing slips in after a drain has
 * begun: `using work = node.work.enter()`.
 */
export class InFlightWork {
  private readonly running = new Set<number>();
  private readonly waiting: (() => void)[] = [];
  private readonly counted = new Set<() => number>();
  private rest: () => Promise<void> = async () => await new Promise((resolve) => setTimeout(resolve, usualRestMs));
  private nextId = 1;
  private open = true;

  /** How much is under way. */
  get count(): number {
    return [...this.counted].reduce((sum, read) => sum + read(), this.running.size);
  }

  /** Work that somebody else counts, and does not tell when it ends: a drain waits for it, too, and looks from time to time. */
  also(read: () => number): Disposable {
    this.counted.add(read);
    return { [Symbol.dispose]: () => this.counted.delete(read) };
  }

  /** How a drain passes the time between two such looks. @internal */
  restBy(rest: () => Promise<void>): void {
    this.rest = rest;
  }

  /** False from the beginning of a drain on. */
  get accepting(): boolean {
    return this.open;
  }

  /** Begins a piece of work, or throws DrainingError. */
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

  /** Runs a piece of work from its beginning to its end. */
  async run<Result>(work: () => Promise<Result>): Promise<Result> {
    const guard = this.enter();
    try {
      return await work();
    } finally {
      guard[Symbol.dispose]();
    }
  }

  /** Admits nothing more. @internal */
  refuse(): void {
    this.open = false;
  }

  /** Takes a refusal back; whoever waited for the work to end waits no more. @internal */
  admit(): void {
    this.open = true;
    for (const wake of this.waiting.splice(0)) wake();
  }

  /** Resolves when nothing is under way that a drain has to wait for: it has all ended, or work is admitted again. */
  async idle(): Promise<void> {
    while (this.count > 0 && !this.open) {
      if (this.running.size > 0) await new Promise<void>((resolve) => this.waiting.push(resolve));
      else await this.rest();
    }
  }
}
