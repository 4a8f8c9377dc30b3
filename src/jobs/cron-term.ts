import type { Clock } from "../election/clock.js";
import { type ErrorCode, HoldfastError, isFailure } from "../errors.js";
import { pause } from "../lifecycle/pause.js";
import { Signal } from "../lifecycle/signal.js";
import type { CronBook, CronDefinition, CronFiring, CronLook, CronRow } from "../store/cron-contract.js";
import type { FenceToken } from "../store/fence-token.js";
import { type CronStanding, planRound } from "./core/cron-round.js";
import { openSchedule, type Schedule } from "./core/cron-schedule.js";
import { firingsOf } from "./cron-firing.js";
import type { JobSettings } from "./job-settings.js";

export interface CronCounts {
  /** From now on its series are there. */
  known(cron: string): void;
  fired(cron: string, ticks: number): void;
  missed(cron: string, ticks: number): void;
}

export interface CronTermParts {
  readonly book: CronBook;
  readonly settings: JobSettings;
  readonly clock: Clock;
  readonly counts: CronCounts;
  readonly trouble: (what: string, error: unknown) => void;
  /** Jobs were submitted, so many at least: somebody may wait for them. */
  readonly submitted: (jobs: number) => void;
  /** What this process defines, now. */
  readonly definitions: () => readonly CronDefinition[];
}

/** Also where nothing is due, the leader looks now and then: the database's clock may have been set. */
const longestSleepMs = 60_000;
/**
 * A cron that the database refuses is left aside for a moment, each time for twice as long: it may be refused as it is, or together with
 * everything else, as on a full disk, and then it must not be late by more than that lasts.
 */
const firstAsideMs = 1_000;
const longestAsideMs = 60_000;
const firstPauseMs = 10;
const longestPauseMs = 2_000;

const passing: ReadonlySet<ErrorCode> = new Set<ErrorCode>(["DATABASE_AWAY", "UNKNOWN_OUTCOME", "DATABASE_READ_ONLY"]);

/**
 * The crons of one term: asks the database what time it is and how the crons stand, plans what is due, has it done, and
 * sleeps until the next tick. It keeps nothing in memory that decides: whatever is not known to have been done is seen at the
 * next look, and a plan for what has been done already is refused.
 *
 * It fires the crons that this process defines. Others that are in the database rest.
 */
export class CronTerm {
  private readonly parts: CronTermParts;
  private readonly fence: FenceToken;
  private readonly signal: AbortSignal;
  private readonly changed: Signal;
  private readonly schedules = new Map<string, Schedule>();
  private readonly aside = new Map<string, { readonly until: number; readonly ms: number }>();
  /** Counts what this process defines, one after the other. */
  private wanted = 1;
  private written = 0;

  constructor(parts: CronTermParts, fence: FenceToken, signal: AbortSignal) {
    this.parts = parts;
    this.fence = fence;
    this.signal = signal;
    this.changed = new Signal(parts.clock);
    signal.addEventListener("abort", () => this.changed.notify(), { once: true });
  }

  /** Something was steered: a look now. */
  wake(): void {
    this.changed.notify();
  }

  /** This process defines other crons than before. */
  redefine(): void {
    this.wanted += 1;
    this.changed.notify();
  }

  /** Whether the database has all that this process defines. */
  get hasDefined(): boolean {
    return this.written === this.wanted;
  }

  /** Runs until the signal, or until the database refuses this term. */
  async run(): Promise<void> {
    let pauseMs = firstPauseMs;
    while (!this.signal.aborted) {
      try {
        await this.defineAll();
        const sleepMs = await this.round();
        pauseMs = firstPauseMs;
        if (sleepMs > 0) await this.changed.wait(sleepMs);
      } catch (error) {
        if (this.signal.aborted) return;
        if (!isPassing(error)) throw error;
        if (pauseMs === firstPauseMs) this.parts.trouble("crons could not be looked at, and are tried again", error);
        await pause(this.parts.clock, pauseMs, this.signal);
        pauseMs = Math.min(2 * pauseMs, longestPauseMs);
      }
    }
  }

  private async defineAll(): Promise<void> {
    if (this.hasDefined) return;
    const { book, definitions } = this.parts;
    const { wanted } = this;
    await book.define(this.fence, definitions(), true);
    this.written = wanted;
  }

  /** What is due, and how long to sleep afterwards. */
  private async round(): Promise<number> {
    const { book, clock, settings } = this.parts;
    const look = await book.look();
    const heardAt = clock.mono();
    const crons = this.firing(look);
    const { orders, next } = planRound(
      crons.map((cron) => this.standingOf(cron)),
      look.now,
    );
    for (const message of firingsOf(orders, crons, settings, clock.wall())) {
      if (this.signal.aborted) return 0;
      await this.fire(message);
    }
    if (orders.length > 0) return 0;
    const againMs = [...this.aside.values()].map(({ until }) => until - heardAt).filter((ms) => ms > 0);
    const sleepMs = Math.min(longestSleepMs, next === null ? longestSleepMs : next - look.now, ...againMs);
    // The database told its time before its answer was here: by then the tick has come, by its clock.
    return Math.max(0, sleepMs - (clock.mono() - heardAt));
  }

  private firing({ crons }: CronLook): readonly CronRow[] {
    const here = new Set(this.parts.definitions().map(({ name }) => name));
    const now = this.parts.clock.mono();
    return crons.filter(
      ({ name, paused, goneAt }) =>
        here.has(name) && !paused && goneAt === null && (this.aside.get(name)?.until ?? now) <= now,
    );
  }

  private standingOf(cron: CronRow): CronStanding {
    const key = JSON.stringify([cron.schedule, cron.timeZone]);
    let schedule = this.schedules.get(key);
    if (schedule === undefined) {
      const opened = openSchedule(cron.schedule, cron.timeZone);
      if (opened.kind === "refused") throw new HoldfastError("BROKEN_INVARIANT", opened.reason);
      schedule = opened.schedule;
      this.schedules.set(key, schedule);
    }
    return { ...cron, schedule };
  }

  /** What the database refuses as a whole is tried one by one, so that one cron does not hold up the others. */
  private async fire(message: readonly CronFiring[]): Promise<void> {
    const { book } = this.parts;
    try {
      const { kind } = await book.fire(this.fence, message);
      for (const { order } of message) this.aside.delete(order.cron);
      if (kind === "fired") this.count(message);
      else this.parts.submitted(0); // By an attempt before, perhaps, of which nobody has heard.
    } catch (error) {
      // It may have fired, and then the next look finds nothing to do.
      if (isFailure(error, "UNKNOWN_OUTCOME")) this.parts.submitted(0);
      if (!isFailure(error, "DATABASE_REFUSED")) throw error;
      if (message.length > 1) {
        for (const one of message) await this.fire([one]);
        return;
      }
      for (const { order } of message) this.putAside(order.cron, error);
    }
  }

  private putAside(cron: string, error: unknown): void {
    const before = this.aside.get(cron);
    if (before === undefined) this.parts.trouble(`cron ${cron} cannot fire, and is tried less and less often`, error);
    const ms = before === undefined ? firstAsideMs : Math.min(2 * before.ms, longestAsideMs);
    this.aside.set(cron, { until: this.parts.clock.mono() + ms, ms });
  }

  private count(message: readonly CronFiring[]): void {
    const { counts, submitted } = this.parts;
    for (const { order, jobs } of message) {
      const passedOver = order.marks.reduce((sum, { kind, missed }) => sum + missed + (kind === "skipped" ? 1 : 0), 0);
      counts.fired(order.cron, jobs.length);
      counts.missed(order.cron, passedOver);
    }
    const submittedJobs = message.reduce((sum, { jobs }) => sum + jobs.length, 0);
    if (submittedJobs > 0) submitted(submittedJobs);
  }
}

export function isPassing(error: unknown): boolean {
  return error instanceof HoldfastError && passing.has(error.code);
}
