/** How many handlers run at a time, over all lanes. Whoever comes later waits, and is served in that order. */
export class Slots {
  private readonly count: number;
  private readonly waiting: (() => void)[] = [];
  private busy = 0;

  constructor(count: number) {
    this.count = count;
  }

  /** Resolves when one is free, which is not yet taken: the caller takes it, or passes it on. */
  async free(): Promise<void> {
    while (this.busy >= this.count) await new Promise<void>((resolve) => this.waiting.push(resolve));
  }

  take(): void {
    this.busy += 1;
  }

  giveBack(): void {
    this.busy -= 1;
    this.passOn();
  }

  passOn(): void {
    this.waiting.shift()?.();
  }
}
