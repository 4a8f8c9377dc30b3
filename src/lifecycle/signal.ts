import type { Clock } from "../election/clock.js";

/** Wakes those who wait for something to change. A change that comes while nobody waits is remembered. */
export class Signal {
  private readonly clock: Clock;
  private changed = false;
  private wake: (() => void) | null = null;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  notify(): void {
    this.changed = true;
    this.wake?.();
  }

  /** Resolves at the next change, or at once after one that nobody has heard of, or after so long. */
  async wait(timeoutMs: number | null = null): Promise<void> {
    if (!this.changed) {
      await new Promise<void>((resolve) => {
        const takeBack = timeoutMs === null ? null : this.clock.wakeAt(this.clock.mono() + timeoutMs, resolve);
        this.wake = () => {
          takeBack?.();
          resolve();
        };
      });
      this.wake = null;
    }
    this.changed = false;
  }
}
