import type { Clock } from "../../../election/clock.js";

/**
 * A time by which something must have happened, moved with every byte that comes. Moving it costs nothing: the timer that runs
 * already looks, when it fires, whether there is more time by then. It looks twice: a process that stood still finds its timers
 * due before it has read what came meanwhile, and its peer is not to blame for that.
 */
export class Deadline {
  private readonly clock: Clock;
  private readonly missed: () => void;
  private due: number | null = null;
  private timer: { readonly at: number; readonly takeBack: () => void } | null = null;
  private isSecondLook = false;

  constructor(clock: Clock, missed: () => void) {
    this.clock = clock;
    this.missed = missed;
  }

  set(inMs: number): void {
    this.due = this.clock.mono() + inMs;
    if (inMs > 0) this.isSecondLook = false;
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
    const now = this.clock.mono();
    if (now < this.due) return this.arm(this.due);
    if (!this.isSecondLook) {
      this.isSecondLook = true;
      return this.arm(now);
    }
    this.due = null;
    this.isSecondLook = false;
    this.missed();
  }
}
