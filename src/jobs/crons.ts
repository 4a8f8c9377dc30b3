import type { Gate } from "../election/gate.js";
import type { LeaderTerm } from "../election/term.js";
import { DrainingError, HoldfastError, NotLeaderError } from "../errors.js";
import { pause } from "../lifecycle/pause.js";
import type { CronDefinition, CronLook, CronRow, CronTick } from "../store/cron-contract.js";
import type { FenceToken } from "../store/fence-token.js";
import type { Page } from "../store/page.js";
import { nextTick, openSchedule } from "./core/cron-schedule.js";
import { jobOf } from "./cron-firing.js";
import { CronTerm, type CronTermParts, isPassing } from "./cron-term.js";
import { definitionOf, type NewCron } from "./new-cron.js";

type CronsTerm = Pick<LeaderTerm<unknown>, "fence" | "signal">;

interface CronsRole {
  readonly name: string;
  readonly gate: Pick<Gate, "requireLeader">;
  lead(fn: (term: CronsTerm) => Promise<void>): unknown;
}

export interface CronsParts extends Omit<CronTermParts, "definitions"> {
  /** Those of the node's settings. */
  readonly stated: readonly NewCron[];
  /** From the first call on, the node contends for it. */
  readonly role: () => CronsRole;
}

/** A cron as it is shown. Times are milliseconds since 1970. */
export interface SeenCron extends CronRow {
  /** Null where it does not fire: paused, gone, or without a tick to come. */
  readonly nextTick: number | null;
}

/** What became of a tick. */
export type SeenTick = CronTick;

interface Leading {
  readonly term: CronTerm;
  readonly fence: FenceToken;
  readonly signal: AbortSignal;
}

/** What a reply that was lost may cost the caller. */
const patienceMs = 10_000;
const pauseMs = 50;

/**
 * Jobs that are submitted by the clock. What there is can be seen on any node; what steers crons is the leader's, and throws
 * NotLeaderError elsewhere. Crons come from the node's settings and from its program (`define`); they fire on the leader, if
 * its own settings or program define them.
 */
export class Crons {
  private readonly parts: CronsParts;
  private readonly definitions = new Map<string, CronDefinition>();
  private role: CronsRole | null = null;
  private current: Leading | null = null;

  constructor(parts: CronsParts) {
    this.parts = parts;
    for (const cron of parts.stated) this.add(definitionOf(cron, "settings"));
  }

  /** From here on this node contends for the crons' role, and fires them where it leads. Twice is once. */
  open(): this {
    if (this.role !== null) return this;
    this.role = this.parts.role();
    this.role.lead(async (term) => await this.lead(term));
    return this;
  }

  /**
   * A cron of this program. Every node that may lead defines it; the leader then fires it. Defined again under its name, it
   * is changed. What the leader does not define does not fire.
   */
  define(cron: NewCron): this {
    const definition = definitionOf(cron, "code");
    if (this.definitions.get(definition.name)?.source === "settings") {
      throw new HoldfastError(
        "BAD_SETTINGS",
        `Cron "${cron.name}" is in the settings already: give this one another name.`,
      );
    }
    this.add(definition);
    this.current?.term.redefine();
    return this.open();
  }

  private add(definition: CronDefinition): void {
    this.definitions.set(definition.name, definition);
    this.parts.counts.known(definition.name);
  }

  /** Every cron, and when it fires next; on any node. */
  async list(): Promise<readonly SeenCron[]> {
    const { now, crons } = await this.parts.book.look();
    return crons.map((cron) => ({ ...cron, nextTick: nextTickOf(cron, now) }));
  }

  /** What became of its ticks, newest first. */
  async history(name: string, page: Page): Promise<readonly SeenTick[]> {
    const { book } = this.parts;
    const ticks = await book.history(name, page);
    if (ticks.length === 0) named(name, await book.look());
    return ticks;
  }

  /** A job now, beside the schedule, also of a cron that is paused. */
  async trigger(name: string): Promise<{ readonly jobId: string }> {
    const { book, settings, clock, submitted } = this.parts;
    const current = this.leading();
    const until = clock.mono() + patienceMs;
    const job = jobOf(await this.written(name, current, until), null, settings, clock.wall());
    if (!(await this.known(() => book.trigger(current.fence, name, job), until))) throw gone(name);
    submitted(1);
    return { jobId: job.jobId };
  }

  /** It does not fire until it is resumed. */
  async pause(name: string): Promise<SeenCron> {
    return await this.setPaused(name, true);
  }

  /** It begins now: what fell into the pause is not made up for. */
  async resume(name: string): Promise<SeenCron> {
    return await this.setPaused(name, false);
  }

  private async setPaused(name: string, paused: boolean): Promise<SeenCron> {
    const current = this.leading();
    const { book, clock } = this.parts;
    const until = clock.mono() + patienceMs;
    await this.written(name, current, until);
    const isDone = await this.known(() => book.setPaused(current.fence, name, paused), until);
    const look = await this.known(() => book.look(), until);
    const cron = named(name, look);
    if (!isDone) throw gone(name);
    current.term.wake();
    return { ...cron, nextTick: nextTickOf(cron, look.now) };
  }

  /** One that this process defines may be on its way into the database: its term, or the definition, has only begun. */
  private async written(name: string, { term, signal }: Leading, until: number): Promise<CronRow> {
    const { book, clock } = this.parts;
    while (this.definitions.has(name) && !term.hasDefined && clock.mono() < until) {
      await pause(clock, pauseMs, signal);
      if (signal.aborted) throw new DrainingError();
    }
    return named(name, await this.known(() => book.look(), until));
  }

  /** Each of these can be asked for again: it is done once. */
  private async known<Result>(ask: () => Promise<Result>, until: number): Promise<Result> {
    const { clock } = this.parts;
    for (;;) {
      try {
        return await ask();
      } catch (error) {
        if (!isPassing(error) || clock.mono() >= until) throw error;
        await pause(clock, pauseMs);
      }
    }
  }

  private leading(): Leading {
    const { current, role } = this;
    if (role === null) throw new NotLeaderError("This node has not opened its crons.");
    role.gate.requireLeader();
    if (current === null || current.signal.aborted) throw new DrainingError();
    return current;
  }

  private async lead({ fence, signal }: CronsTerm): Promise<void> {
    const definitions = (): readonly CronDefinition[] => [...this.definitions.values()];
    const term = new CronTerm({ ...this.parts, definitions }, fence, signal);
    const current = { term, fence, signal };
    this.current = current;
    try {
      await term.run();
    } finally {
      if (this.current === current) this.current = null;
    }
  }
}

function nextTickOf({ schedule, timeZone, paused, goneAt, lastTick }: CronRow, now: number): number | null {
  if (paused || goneAt !== null) return null;
  const opened = openSchedule(schedule, timeZone);
  return opened.kind === "opened" ? nextTick(opened.schedule, Math.max(now, lastTick)) : null;
}

function named(name: string, { crons }: CronLook): CronRow {
  const cron = crons.find((each) => each.name === name);
  if (cron === undefined) throw new HoldfastError("NOT_FOUND", `There is no cron "${name}".`);
  return cron;
}

function gone(name: string): HoldfastError {
  return new HoldfastError("REFUSED", `Cron "${name}" is gone: the settings of the leader name it no more.`);
}
