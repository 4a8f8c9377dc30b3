import { inTimeMs } from "../../../src/jobs/core/cron-plan.js";
import { planHoldsMs } from "../../../src/jobs/core/cron-round.js";
import { almanac } from "./almanac.js";
import { type CronCase, cases } from "./cases.js";
import type { Ledger, LedgerFiring } from "./ledger.js";

export type CronRule =
  /** A tick has one job at most. */
  | "doubled"
  /** A tick that the policy gives a job has one. */
  | "lost"
  /** No job comes before its tick, by the database's clock. */
  | "early"
  /** A tick that the policy gives no job has none. */
  | "policy"
  /** What fires is a tick of the schedule. */
  | "foreign"
  /** Whoever decides what is due does so by the database's clock. */
  | "clock";

export interface CronBreach {
  readonly rule: CronRule;
  readonly message: string;
}

const shown = (at: number | undefined): string => (at === undefined ? "nothing" : new Date(at).toISOString());

/** What a ledger of a whole year has to say for itself, against the almanac; null where every rule was kept. */
export function auditYear(ledger: Ledger, until: number): CronBreach | null {
  for (const each of cases) {
    const jobs = ledger.jobs.filter(({ cron }) => cron === each.name);
    const firings = ledger.firings.filter(({ cron }) => cron === each.name);
    const breach = auditJobs(each, jobs) ?? auditFirings(each, firings, jobs, until);
    if (breach !== null) return { ...breach, message: `${each.name}: ${breach.message}` };
  }
  return null;
}

function auditJobs({ name }: CronCase, jobs: Ledger["jobs"]): CronBreach | null {
  const ticks = new Set(almanac().ticks.get(name));
  const seen = new Set<number>();
  for (const { tick, at } of jobs) {
    if (!ticks.has(tick)) return { rule: "foreign", message: `${shown(tick)} is no tick` };
    if (seen.has(tick)) return { rule: "doubled", message: `${shown(tick)} has two jobs` };
    if (at < tick) return { rule: "early", message: `${shown(tick)} fired at ${shown(at)}` };
    seen.add(tick);
  }
  return null;
}

/** Walks through the year firing by firing: whatever was due by then has to be decided as the policy says. */
function auditFirings(
  each: CronCase,
  firings: readonly LedgerFiring[],
  jobs: Ledger["jobs"],
  until: number,
): CronBreach | null {
  const ticks = almanac().ticks.get(each.name) ?? [];
  const fired = new Set(jobs.map(({ tick }) => tick));
  let place = 0;
  for (const { at, plannedAt } of firings) {
    if (plannedAt > at || at - plannedAt > planHoldsMs) {
      return { rule: "clock", message: `planned at ${shown(plannedAt)} and committed at ${shown(at)}` };
    }
    const from = place;
    while ((ticks[place] ?? Number.POSITIVE_INFINITY) <= plannedAt) place += 1;
    const breach = auditDue(each, ticks.slice(from, place), fired, plannedAt);
    if (breach !== null) return breach;
  }
  const left = ticks[place];
  if (left === undefined || left > until) return null;
  return { rule: "lost", message: `${shown(left)} was never decided on` };
}

function auditDue(
  { policy }: CronCase,
  due: readonly number[],
  fired: ReadonlySet<number>,
  plannedAt: number,
): CronBreach | null {
  const newest = due.at(-1);
  if (newest === undefined) return { rule: "doubled", message: `nothing was due at ${shown(plannedAt)}` };
  const isLate = policy.kind === "skip" && plannedAt - newest > inTimeMs;
  const wanted = new Set(isLate ? [] : due.slice(policy.kind === "catch_up" ? -policy.max : -1));
  const lost = due.find((tick) => wanted.has(tick) && !fired.has(tick));
  if (lost !== undefined) return { rule: "lost", message: `${shown(lost)} has no job` };
  const unwanted = due.find((tick) => !wanted.has(tick) && fired.has(tick));
  if (unwanted !== undefined) return { rule: "policy", message: `${shown(unwanted)} has a job` };
  return null;
}
