import type { Clock } from "../election/clock.js";
import { within } from "../lifecycle/within.js";

/** How old a reading may be, and how long one may take. */
const freshMs = 5_000;
const patienceMs = 1_000;

/** For how long a queue's oldest message has been there. Asking the database takes a probe a lane, so not each time. */
export class QueueAge {
  private readonly clock: Clock;
  private readonly read: () => Promise<number | null>;
  private known: { readonly at: number; readonly seconds: number } | null = null;

  constructor(clock: Clock, read: () => Promise<number | null>) {
    this.clock = clock;
    this.read = read;
  }

  /** What was last known, where the database does not answer. */
  async seconds(): Promise<number> {
    const now = this.clock.mono();
    if (this.known !== null && now - this.known.at < freshMs) return this.known.seconds;
    const before = this.known?.seconds ?? 0;
    const read = this.read().then((oldestMs) => (oldestMs ?? 0) / 1000);
    const seconds = await within(patienceMs, read, () => before).catch(() => before);
    this.known = { at: now, seconds };
    return seconds;
  }
}
