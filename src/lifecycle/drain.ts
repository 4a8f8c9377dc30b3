import type { Config } from "../config/config.js";
import type { Clock } from "../election/clock.js";
import type { InFlightWork } from "./in-flight.js";
import { pause } from "./pause.js";
import { within } from "./within.js";

export interface DrainTimes {
  /** For all of it: the work under way, and the roles. */
  readonly timeoutMs: number;
  /** What whoever leads gets at least, to hear its signal. */
  readonly leastMs: number;
  /** Between two looks at work that is counted elsewhere. */
  readonly restMs: number;
}

export function drainTimesOf({ timing, shutdown }: Pick<Config, "timing" | "shutdown">): DrainTimes {
  const { drainTimeoutMs, heartbeatMs } = timing;
  return {
    timeoutMs: drainTimeoutMs,
    leastMs: Math.min(heartbeatMs, drainTimeoutMs),
    restMs: shutdown.pollIntervalMs,
  };
}

export interface DrainParts {
  readonly work: InFlightWork;
  readonly clock: Clock;
  readonly times: DrainTimes;
  readonly tellStatus: (status: "draining" | "active") => Promise<void>;
  readonly begun: () => void;
  /** Resolves when no role is held any more, or the node has been resumed. */
  readonly giveUpRoles: (withinMs: number) => Promise<void>;
}

/**
 * Stops admitting work and issuing it, says so, waits for what is under way, then gives up every role. It can be taken back:
 * the node then contends again, but a role that it was giving up has to be won again.
 */
export class Drain {
  private readonly parts: DrainParts;
  private until = 0;

  constructor(parts: DrainParts) {
    const { work, clock, times } = parts;
    this.parts = parts;
    work.restBy(async () => await pause(clock, times.restMs));
  }

  /** A second call waits for the same end, and not for another timeout. */
  async run(): Promise<void> {
    const { work, clock, tellStatus, begun, giveUpRoles } = this.parts;
    const { timeoutMs, leastMs } = this.parts.times;
    const told = work.accepting ? tellStatus("draining") : Promise.resolve();
    if (work.accepting) {
      work.refuse();
      this.until = clock.mono() + timeoutMs;
      // After this step: what a listener throws is its owner's, and must not stop the drain.
      queueMicrotask(begun);
    }
    const leftMs = Math.max(0, this.until - clock.mono());
    // The leader's work is told to stop at once; its roles are released when that and the rest has ended (R9).
    await Promise.all([told, within(leftMs, work.idle()), giveUpRoles(Math.max(leftMs, leastMs))]);
  }

  takeBack(): void {
    this.parts.work.admit();
    void this.parts.tellStatus("active");
  }
}
