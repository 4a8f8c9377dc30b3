import type pg from "pg";
import { HoldfastError } from "../../errors.js";
import type { MissedPolicy } from "../../jobs/core/cron-plan.js";
import { planHoldsMs } from "../../jobs/core/cron-round.js";
import type { Json } from "../../jobs/core/job.js";
import type { FenceToken, Page } from "../contract.js";
import type {
  CronBook,
  CronDefinition,
  CronFiring,
  CronLook,
  CronRow,
  CronSource,
  CronTick,
  FireOutcome,
} from "../cron-contract.js";
import type { Submission } from "../job-orders.js";
import { applyStatement } from "./job-wire.js";
import { quoted } from "./literal.js";
import type { Questions } from "./questions.js";
import type { FencedMessage } from "./queue-traffic.js";
import { sqlState, sqlStateOf, toHoldfastError } from "./sql-errors.js";

interface CronJson {
  readonly name: string;
  readonly generation: number;
  readonly source: CronSource;
  readonly schedule: string;
  readonly time_zone: string;
  readonly op: string;
  readonly payload: Json;
  readonly missed: MissedPolicy["kind"];
  readonly max_catch_up: number;
  readonly paused: boolean;
  readonly gone_at: number | null;
  readonly last_tick: number;
}

interface TickJson {
  readonly id: string;
  readonly tick: number;
  readonly decided_at: number;
  readonly kind: CronTick["kind"];
  readonly missed: number;
  readonly job_id: string | null;
}

/** Crons on PostgreSQL (migrations/0005_crons.sql). A firing and its jobs are one message, and so one transaction. */
export class PostgresCronBook implements CronBook {
  private readonly questions: Questions;
  private readonly send: FencedMessage;

  constructor(questions: Questions, send: FencedMessage) {
    this.questions = questions;
    this.send = send;
  }

  async define(fence: FenceToken, crons: readonly CronDefinition[], areAllSettings: boolean): Promise<void> {
    const told = quoted(JSON.stringify(crons.map(definitionJson)));
    await this.write(fence, [
      `select ${this.questions.schema}.define_crons(${told}, ${areAllSettings}, ${fence.epoch})`,
    ]);
  }

  async look(): Promise<CronLook> {
    const { schema } = this.questions;
    const [row] = await this.questions.rows<{ now: number; crons: CronJson[] }>(
      "reading the crons",
      `select ${schema}.ms_since_1970(${schema}.now_ms()) as now,
         coalesce((select json_agg(${schema}.cron_view(c) order by c.name) from ${schema}.crons c), '[]') as crons`,
    );
    return { now: Math.round(row?.now ?? 0), crons: (row?.crons ?? []).map(readCron) };
  }

  async fire(fence: FenceToken, firings: readonly CronFiring[]): Promise<FireOutcome> {
    const { schema } = this.questions;
    const orders = quoted(JSON.stringify(firings.map(firingJson)));
    const jobs = firings.flatMap((firing) => firing.jobs);
    try {
      await this.write(fence, [
        `select ${schema}.mark_ticks(${orders}, ${planHoldsMs}, ${fence.epoch})`,
        ...(jobs.length === 0 ? [] : [applyStatement(schema, fence.epoch, jobs)]),
      ]);
      return { kind: "fired" };
    } catch (error) {
      const state = refusalOf(error);
      if (state === sqlState.cronChanged) return { kind: "changed" };
      if (state === sqlState.planUntimely) return { kind: "not_now" };
      throw error;
    }
  }

  async trigger(fence: FenceToken, cron: string, job: Submission): Promise<boolean> {
    const { schema } = this.questions;
    try {
      await this.write(fence, [
        `select ${schema}.trigger_cron(${quoted(cron)}, ${quoted(job.jobId)}, ${fence.epoch})`,
        applyStatement(schema, fence.epoch, [job]),
      ]);
      return true;
    } catch (error) {
      if (refusalOf(error) === sqlState.unknownCron) return false;
      throw error;
    }
  }

  async setPaused(fence: FenceToken, cron: string, paused: boolean): Promise<boolean> {
    const { schema } = this.questions;
    // The row first, under its lock: one that is gone stays as it is.
    const results = await this.write(fence, [
      `select found.name, ${schema}.pause_cron(found.name, ${paused}, ${fence.epoch})
       from (select name from ${schema}.crons where name = ${quoted(cron)} and gone_at is null for update) found`,
    ]);
    return results.some(({ rows }) => (rows as { name?: string }[])[0]?.name === cron);
  }

  async history(cron: string, { limit, before }: Page): Promise<readonly CronTick[]> {
    const { schema } = this.questions;
    const rows = await this.questions.rows<TickJson>(
      "reading the history of a cron",
      `select id::text, ${schema}.ms_since_1970(tick) as tick, ${schema}.ms_since_1970(decided_at) as decided_at, kind, missed, job_id
       from ${schema}.cron_ticks
       where cron = $1 and ($2::bigint is null or cron_ticks.id < $2) order by cron_ticks.id desc limit $3`,
      [cron, before ?? null, limit],
    );
    return rows.map(({ tick, decided_at, job_id, ...rest }) => ({
      ...rest,
      tick: Math.round(tick),
      decidedAt: Math.floor(decided_at),
      jobId: job_id,
    }));
  }

  async forget(fence: FenceToken, olderThanMs: number, limit: number): Promise<number> {
    const { schema } = this.questions;
    const results = await this.write(fence, [
      `delete from ${schema}.cron_ticks where id in (
         select id from ${schema}.cron_ticks order by id limit ${limit}
       ) and decided_at <= ${schema}.after_ms(clock_timestamp(), -${olderThanMs})`,
    ]);
    return results.find(({ command }) => command === "DELETE")?.rowCount ?? 0;
  }

  /** Durable as soon as it is acknowledged: a tick whose job was handed out must not come again (R2). */
  private async write(fence: FenceToken, statements: readonly string[]): Promise<readonly pg.QueryResult[]> {
    try {
      const message = { statements: ["set local synchronous_commit = on", ...statements] };
      return (await this.send(fence, message)).results;
    } catch (error) {
      throw toHoldfastError(error, "writing crons");
    }
  }
}

/** The SQLSTATE with which one of our functions has refused; null where it was something else. */
function refusalOf(error: unknown): string | null {
  return error instanceof HoldfastError ? sqlStateOf(error.cause) : null;
}

function definitionJson({ name, source, schedule, timeZone, op, payload, policy }: CronDefinition) {
  const max_catch_up = policy.kind === "catch_up" ? policy.max : 1;
  const told = { name, source, schedule, time_zone: timeZone, op, missed: policy.kind, max_catch_up };
  // As text, so that the database keeps it as it is and two of them can be compared.
  return { ...told, payload: JSON.stringify(payload) };
}

function firingJson({ order, jobs }: CronFiring) {
  const idOf = new Map(jobs.map(({ tick, jobId }) => [tick, jobId]));
  return {
    cron: order.cron,
    generation: order.generation,
    last_tick: order.lastTick,
    planned_at: order.plannedAt,
    marks: order.marks.map((mark) => ({ ...mark, job_id: idOf.get(mark.tick) ?? null })),
  };
}

function readCron({ time_zone, missed, max_catch_up, gone_at, last_tick, ...rest }: CronJson): CronRow {
  return {
    ...rest,
    timeZone: time_zone,
    policy: missed === "catch_up" ? { kind: missed, max: max_catch_up } : { kind: missed },
    goneAt: gone_at === null ? null : Math.round(gone_at),
    lastTick: Math.round(last_tick),
  };
}
