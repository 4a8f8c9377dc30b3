import { invariant } from "../errors.js";
import type { CronFiring, CronRow } from "../store/cron-contract.js";
import type { Submission } from "../store/job-orders.js";
import type { FireOrder } from "./core/cron-round.js";
import type { JobSettings } from "./job-settings.js";
import { submissionOf } from "./new-job.js";

/** One transaction takes so many ticks at most, and so many bytes of payloads; the rest follows in the next. */
const mostMarks = 500;
const mostBytes = 4_194_304;

/** The job of a tick. `now` is for its id alone, which grows with time. */
export function jobOf(cron: CronRow, tick: number | null, settings: JobSettings, now: number): Submission {
  const { op, payload, name } = cron;
  return { ...submissionOf({ op, payload }, settings, now), cron: name, tick };
}

/** The orders with their jobs, as messages of a size that a transaction takes. */
export function firingsOf(
  orders: readonly FireOrder[],
  crons: readonly CronRow[],
  settings: JobSettings,
  now: number,
): readonly (readonly CronFiring[])[] {
  const rows = new Map(crons.map((cron) => [cron.name, cron]));
  const messages: CronFiring[][] = [];
  let room = 0;
  for (const order of orders) {
    const cron = rows.get(order.cron);
    invariant(cron !== undefined, "what is fired was read before");
    const taken = marksAtOnce(cron);
    const marks = order.marks.slice(0, taken);
    const jobs = marks.filter(({ kind }) => kind !== "skipped").map(({ tick }) => jobOf(cron, tick, settings, now));
    const share = marks.length / taken;
    if (share > room) {
      messages.push([]);
      room = 1;
    }
    room -= share;
    messages.at(-1)?.push({ order: { ...order, marks }, jobs });
  }
  return messages;
}

/** How many of its ticks fill a message. */
function marksAtOnce({ payload }: CronRow): number {
  const bytes = Buffer.byteLength(JSON.stringify(payload));
  return Math.max(1, Math.min(mostMarks, Math.floor(mostBytes / Math.max(1, bytes))));
}
