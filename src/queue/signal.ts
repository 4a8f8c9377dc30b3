/** Wakes those who wait for something to change. A change that comes while nobody waits is remembered. */
export class Signal {
  private changed = false;
  private wake: (() => void) | null = null;

  notify(): void {
    this.changed = true;
    this.wake?.();
  }

  /** Resolves at the next change, or at once after one that nobody has heard of, or after so long. */
  async wait(timeoutMs: number | null = null): Promise<void> {
    if (!this.changed) {
      let timer: NodeJS.Timeout | undefined;
      await new Promise<void>((resolve) => {
        this.wake = resolve;
        if (timeoutMs !== null) timer = setTimeout(resolve, timeoutMs);
      });
      clearTimeout(timer);
      this.wake = null;
    }
    this.changed = false;
  }
}
