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

export const systemClock: Clock = {
  mono: () => performance.now(),
  wall: () => Date.now(),
  boot: () => uptime() * 1000,
  wakeAt(mono, fire) {
    let pending: NodeJS.Immediate | undefined;
    // After a pause timers come first, and replies that have long arrived would count as lost: let them be read before.
    const timer = setTimeout(
      () => {
        pending = setImmediate(fire);
      },
      Math.max(0, Math.ceil(mono - performance.now())),
    );
    return () => {
      clearTimeout(timer);
      clearImmediate(pending);
    };
  },
};
