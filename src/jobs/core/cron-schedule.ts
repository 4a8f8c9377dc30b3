import { dayMs, firstLocal, secondMs } from "./cron-calendar.js";
import { type CronExpression, parseCron } from "./cron-expression.js";
import { Zone } from "./cron-zone.js";

/**
 * A cron expression in a time zone. Its ticks are instants: whole seconds, in milliseconds since 1970, each one later than the
 * one before.
 *
 * What happens when the clocks change:
 * - An expression whose hour field takes in every hour (`*`, or what amounts to it) follows absolute time: it ticks at every
 *   instant at which the clock on the wall shows a time that it names. Nothing is made up for and nothing held back.
 * - Any other names times of day, each of which ticks once a day: one that does not exist, since the clocks jump over it, at
 *   the first instant after the jump; one that exists twice at the first of the two.
 */
export interface Schedule {
  readonly expression: CronExpression;
  readonly zone: Zone;
}

export type OpenedSchedule =
  | { readonly kind: "opened"; readonly schedule: Schedule }
  | { readonly kind: "refused"; readonly reason: string };

export function openSchedule(text: string, timeZone: string): OpenedSchedule {
  const parsed = parseCron(text);
  if (parsed.kind === "refused") return { kind: "refused", reason: `The schedule "${text}": ${parsed.reason}.` };
  const zone = Zone.open(timeZone);
  if (zone === null) return { kind: "refused", reason: `There is no time zone "${timeZone}".` };
  return { kind: "opened", schedule: { expression: parsed.expression, zone } };
}

const followsAbsoluteTime = ({ hours }: CronExpression): boolean => hours.length === 24;

/** The first tick after this instant; null where no more will come. */
export function nextTick(schedule: Schedule, afterMs: number): number | null {
  return followsAbsoluteTime(schedule.expression) ? nextShown(schedule, afterMs) : nextNamed(schedule, afterMs);
}

/** The first instant at which the clock on the wall shows a time that the expression names. */
function nextShown({ expression, zone }: Schedule, afterMs: number): number | null {
  let at = Math.floor(afterMs / secondMs) * secondMs + secondMs;
  for (;;) {
    const { offsetMs, until } = zone.stretchAt(at);
    const local = firstLocal(expression, at + offsetMs);
    if (local === null) return null;
    if (local - offsetMs < until) return local - offsetMs;
    at = until;
  }
}

/** The first instant that a time of day which the expression names stands for. */
function nextNamed({ expression, zone }: Schedule, afterMs: number): number | null {
  const { offsetMs } = zone.stretchAt(afterMs);
  let local = firstLocal(expression, Math.floor((afterMs + offsetMs) / secondMs) * secondMs + secondMs);
  while (local !== null) {
    const instant = instantOf(zone, local);
    // Once the clocks have gone back, times lie ahead on the wall that have had their instant already.
    if (instant > afterMs) return instant;
    local = firstLocal(expression, local + secondMs);
  }
  return null;
}

/** No zone is further from UTC than this, the day included that a zone may leave out when it changes sides. */
const farthestMs = 2 * dayMs;

/** The first instant at which a clock shows this time or a later one that it reaches by jumping over it. */
function instantOf(zone: Zone, local: number): number {
  let stretch = zone.stretchAt(local - farthestMs);
  while (local - stretch.offsetMs >= stretch.until) stretch = zone.stretchAt(stretch.until);
  return Math.max(local - stretch.offsetMs, stretch.from);
}
