import { uptime } from "node:os";
import type { Instant } from "./core/trust.js";

/** The runtime's only way to time: three clocks and a timer. Tests put their own in its place. */
export interface Clock {
  readonly mono: () => number;
  readonly wall: () => number;
  readonly boot: () => number;
  /** Calls `fire` at about this monotonic time; returns the way to take it back. */
  wakeAt(mono: number, fire: () => void): () => void;
}

export function readClock(clock: Clock): Instant {
  return { mono: clock.mono(), wall: clock.wall(), boot: clock.boot() };
}

/** A timer that is asked for more fires at once. */
const longestTimerMs = 2 ** 31 - 1;

export const systemClock: Clock = {
  mono: () => performance.now(),
  wall: () => Date.now(),
  boot: () => uptime() * 1000,
  wakeAt(mono, fire) {
    let pending: NodeJS.Immediate | undefined;
    let timer: NodeJS.Timeout;
    const wake = (): void => {
      // After a pause timers come first, and replies that have long arrived would count as lost: let them be read before.
      pending = setImmediate(fire);
    };
    const sleep = (): void => {
      const leftMs = Math.max(0, Math.ceil(mono - performance.now()));
      timer = leftMs > longestTimerMs ? setTimeout(sleep, longestTimerMs) : setTimeout(wake, leftMs);
    };
    sleep();
    return () => {
      clearTimeout(timer);
      clearImmediate(pending);
    };
  },
};
