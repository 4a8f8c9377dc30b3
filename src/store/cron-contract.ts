import type { MissedPolicy, TickMark } from "../jobs/core/cron-plan.js";
import type { FireOrder } from "../jobs/core/cron-round.js";
import type { Json } from "../jobs/core/job.js";
import type { FenceToken } from "./fence-token.js";
import type { Submission } from "./job-orders.js";
import type { Page } from "./page.js";

/**
 * What crons need of a database, in its own words. Only the leader of `scheduler` writes, under its fence (R8). A tick is noted
 * and its job submitted in one transaction, if the cron stands as it did when that was planned; so a tick is neither lost nor
 * doubled, whoever crashes when, and what is not known to have been done is found out by looking.
 */
export interface CronBook {
  /**
   * Makes crons what they are told to be; their generation is raised where that is a change. One that is new, has another
   * schedule or zone, or comes back begins now. Where `areAllSettings`, crons that came from settings and are not among these
   * are gone: they stay, with their history, and do not fire.
   */
  define(fence: FenceToken, crons: readonly CronDefinition[], areAllSettings: boolean): Promise<void>;
  /** All of them, those that are gone too, by name; and the database's clock. On any node. */
  look(): Promise<CronLook>;
  /** All of it or nothing, by the rules of `judgeFiring`. */
  fire(fence: FenceToken, firings: readonly CronFiring[]): Promise<FireOutcome>;
  /** A job beside the schedule, noted in the history. False where there is no such cron. Asked again it is done once. */
  trigger(fence: FenceToken, cron: string, job: Submission): Promise<boolean>;
  /** False where there is no such cron. What falls into a pause is not made up for. */
  setPaused(fence: FenceToken, cron: string, paused: boolean): Promise<boolean>;
  /** Newest first. On any node. */
  history(cron: string, page: Page): Promise<readonly CronTick[]>;
  /** Forgets what was decided so long ago, so many at most, and answers with how many. */
  forget(fence: FenceToken, olderThanMs: number, limit: number): Promise<number>;
}

/** Where a cron is written down: in the settings of the leader, or in the program that it runs. */
export type CronSource = "settings" | "code";

export interface CronDefinition {
  readonly name: string;
  readonly source: CronSource;
  readonly schedule: string;
  readonly timeZone: string;
  readonly op: string;
  readonly payload: Json;
  readonly policy: MissedPolicy;
}

/** A cron as it stands. Times are milliseconds since 1970, by the database's clock. */
export interface CronRow extends CronDefinition {
  readonly generation: number;
  readonly paused: boolean;
  readonly goneAt: number | null;
  readonly lastTick: number;
}

export interface CronLook {
  readonly now: number;
  readonly crons: readonly CronRow[];
}

/** An order, and the jobs of its marks, in their order; one that is skipped has none. */
export interface CronFiring {
  readonly order: FireOrder;
  readonly jobs: readonly Submission[];
}

/** `changed`: a cron is not as it was planned for. `not_now`: a plan does not fit the database's clock. Nothing was done. */
export type FireOutcome = { readonly kind: "fired" | "changed" | "not_now" };

export interface CronTick {
  readonly id: string;
  readonly tick: number;
  readonly decidedAt: number;
  readonly kind: TickMark["kind"] | "triggered";
  /** How many ticks before this one got no job. */
  readonly missed: number;
  readonly jobId: string | null;
}
