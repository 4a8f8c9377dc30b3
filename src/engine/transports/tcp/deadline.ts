import type { Clock } from "../../../election/clock.js";

/**
 * A time by which something must have happened, moved with every byte that comes. Moving it costs nothing: the timer that runs
 * already looks, when it fires, whether there is more time by then.
 */
export class Deadline {
  private readonly clock: Clock;
  private readonly missed: () => void;
  private due: number | null = null;
  private timer: { readonly at: number; readonly takeBack: () => void } | null = null;

  constructor(clock: Clock, missed: () => void) {
    this.clock = clock;
    this.missed = missed;
  }

  set(inMs: number): void {
    this.due = this.clock.mono() + inMs;
    if (this.timer === null || this.timer.at > this.due) this.arm(this.due);
  }

  clear(): void {
    this.due = null;
  }

  /** Leaves no timer behind. */
  dispose(): void {
    this.due = null;
    this.timer?.takeBack();
    this.timer = null;
  }

  private arm(at: number): void {
    this.timer?.takeBack();
    this.timer = { at, takeBack: this.clock.wakeAt(at, () => this.look()) };
  }

  private look(): void {
    this.timer = null;
    if (this.due === null) return;
    if (this.clock.mono() < this.due) return this.arm(this.due);
    this.due = null;
    this.missed();
  }
}
