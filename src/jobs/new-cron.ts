import { HoldfastError } from "../errors.js";
import type { CronDefinition, CronSource } from "../store/cron-contract.js";
import type { MissedPolicy } from "./core/cron-plan.js";
import { openSchedule } from "./core/cron-schedule.js";
import type { Json } from "./core/job.js";
import { checkJson, named } from "./new-job.js";

/** A cron as a program or the settings describe it. */
export interface NewCron {
  /** Its own, in the whole cluster. */
  readonly name: string;
  /** Five fields, or six with the seconds in front. */
  readonly schedule: string;
  /** The zone that the schedule is read in; UTC by default. */
  readonly timeZone?: string | undefined;
  /** What its jobs do. */
  readonly op: string;
  readonly payload?: Json | undefined;
  /** What happens to ticks that nobody was there for; "coalesce" by default. */
  readonly missed?: MissedPolicy["kind"] | undefined;
  /** At most so many jobs at once for ticks missed, with "catch_up"; 100 by default. */
  readonly catchUpMax?: number | undefined;
}

export const cronName = /^[A-Za-z0-9_.-]{1,100}$/;
const mostCatchUp = 10_000;

/** Refuses what cannot be a cron, before anybody relies on it. */
export function definitionOf(cron: NewCron, source: CronSource): CronDefinition {
  const { name, schedule, timeZone = "UTC", op, payload = null, missed = "coalesce", catchUpMax = 100 } = cron;
  if (typeof name !== "string" || !cronName.test(name)) {
    throw bad(`A cron's name must be 1 to 100 of the characters A-Z, a-z, 0-9, "_", "." and "-", not "${name}".`);
  }
  const opened = openSchedule(schedule, timeZone);
  if (opened.kind === "refused") throw bad(`Cron "${name}" cannot be: ${opened.reason}`);
  try {
    named("op", op);
    checkJson("payload", payload);
  } catch (error) {
    throw error instanceof HoldfastError ? bad(`Cron "${name}" cannot be: ${error.message}`, error) : error;
  }
  if (!Number.isInteger(catchUpMax) || catchUpMax < 1 || catchUpMax > mostCatchUp) {
    throw bad(`Cron "${name}" cannot be: catch_up_max must be a whole number from 1 to ${mostCatchUp}.`);
  }
  const { text } = opened.schedule.expression;
  return { name, source, schedule: text, timeZone, op, payload, policy: policyOf(missed, catchUpMax) };
}

function policyOf(missed: MissedPolicy["kind"], max: number): MissedPolicy {
  return missed === "catch_up" ? { kind: missed, max } : { kind: missed };
}

function bad(message: string, cause?: unknown): HoldfastError {
  return new HoldfastError("BAD_SETTINGS", message, { cause });
}
