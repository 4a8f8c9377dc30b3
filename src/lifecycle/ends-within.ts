import type { Clock } from "../election/clock.js";
import { pause } from "./pause.js";

/** Whether the work has ended after so long, by this clock. Nobody hears of it where it ends later, or fails then. */
export async function endsWithin(clock: Clock, ms: number, work: Promise<unknown>): Promise<boolean> {
  const over = new AbortController();
  try {
    return await Promise.race([work.then(() => true), pause(clock, ms, over.signal).then(() => false)]);
  } finally {
    over.abort();
  }
}
