import type pg from "pg";
import type { JobState } from "../../jobs/core/job.js";
import type { FenceToken, Page } from "../contract.js";
import type {
  Compaction,
  CompactOrder,
  EventCursor,
  EventReading,
  JobBook,
  JobFilter,
  JobPage,
  JobReply,
  JobStanding,
  Ripening,
} from "../job-contract.js";
import type { JobOrder } from "../job-orders.js";
import { type AgentJson, type EventsJson, type JobJson, readAgent, readEvents, readJob } from "./job-rows.js";
import { jobStatements, pageReach } from "./job-statements.js";
import { durably, JobTraffic } from "./job-traffic.js";
import { storable } from "./literal.js";
import type { Questions } from "./questions.js";
import type { FencedMessage } from "./queue-traffic.js";
import { toHoldfastError } from "./sql-errors.js";

/** Jobs on PostgreSQL: every write is one function in one message, under its epoch's fence (migrations/0004_jobs.sql). */
export class PostgresJobBook implements JobBook {
  private readonly questions: Questions;
  private readonly send: FencedMessage;
  private readonly traffic: JobTraffic;
  private readonly sql: ReturnType<typeof jobStatements>;

  constructor(questions: Questions, send: FencedMessage) {
    this.questions = questions;
    this.send = send;
    this.traffic = new JobTraffic(questions.schema, send);
    this.sql = jobStatements(questions.schema);
  }

  async apply(fence: FenceToken, orders: readonly JobOrder[]): Promise<JobReply> {
    try {
      return await this.traffic.apply(fence, orders);
    } catch (error) {
      throw toHoldfastError(error, "writing jobs");
    }
  }

  async ripen(fence: FenceToken, limit: number): Promise<Ripening> {
    type RipeningJson = {
      ripened: number;
      lost: { job_id: string; agent: string; state: JobState }[];
      next_due_ms: number | null;
    };
    const { ripened, lost, next_due_ms } = await this.write<RipeningJson>(fence, this.sql.ripen(fence.epoch, limit));
    return {
      ripened,
      lost: lost.map(({ job_id, agent, state }) => ({ jobId: job_id, agent, state })),
      nextDueMs: next_due_ms,
    };
  }

  async compact(fence: FenceToken, order: CompactOrder): Promise<Compaction> {
    const { states, jobsOlderThanMs, eventsOlderThanMs, agentsOlderThanMs, from, limit } = order;
    const times = [jobsOlderThanMs, eventsOlderThanMs, agentsOlderThanMs].join(", ");
    return await this.write<Compaction>(
      fence,
      `select ${this.questions.schema}.compact_jobs('{${states.join()}}', ${times}, ${from}, ${limit}) as reply`,
    );
  }

  /** Durable as soon as it is acknowledged: a lease that was lost would hand out its epoch twice (R2). */
  private async write<Reply>(fence: FenceToken, statement: string): Promise<Reply> {
    try {
      const { results } = await this.send(fence, { statements: [durably, statement] });
      return (results.flatMap((result: pg.QueryResult) => result.rows as { reply: Reply }[])[0] as { reply: Reply })
        .reply;
    } catch (error) {
      throw toHoldfastError(error, "writing jobs");
    }
  }

  async job(jobId: string) {
    const rows = await this.questions.rows<JobJson>("reading a job", this.sql.job, [storable(jobId)]);
    return rows[0] === undefined ? null : readJob(rows[0]);
  }

  async jobs(filter: JobFilter, { limit, before }: Page): Promise<JobPage> {
    const { state, op, namespace, agent, since } = filter;
    const named = [op, namespace, agent].map((name) => (name === undefined ? null : storable(name)));
    const values = [before ?? null, limit, ...named, since ?? null];
    const indexed = statementFor(state);
    const given = indexed === "queued" || indexed === "leased" ? values : [...values, state ?? null];
    const rows = await this.questions.rows<JobJson>("listing jobs", this.sql[indexed], given);
    const jobs = rows.map(readJob);
    if (jobs.length === limit) return { jobs, next: `${jobs.at(-1)?.n}` };
    return { jobs, next: indexed === "any" ? await this.endOfReach(before, since) : null };
  }

  /** Where a page that went through so many jobs has ended; null where there are no more, or none that is new enough. */
  private async endOfReach(before: string | undefined, since: number | undefined): Promise<string | null> {
    type Reach = { seen: number; last: string | null; since: number };
    const [reach] = await this.questions.rows<Reach>("listing jobs", this.sql.reached, [before ?? null]);
    if (reach === undefined || reach.seen < pageReach || (since !== undefined && reach.since < since)) return null;
    return reach.last;
  }

  async standing(): Promise<JobStanding> {
    type Row = Record<JobState | "submitted", string> & { next_due_ms: number | null; oldest_ready_ms: number | null };
    const [row] = await this.questions.rows<Row>("counting jobs", this.sql.standing);
    const { submitted, next_due_ms, oldest_ready_ms, ...counts } = row as Row;
    return {
      counts: Object.fromEntries(Object.entries(counts).map(([state, jobs]) => [state, Number(jobs)])) as Record<
        JobState,
        number
      >,
      submitted: Number(submitted),
      oldestReadyMs: oldest_ready_ms,
      nextDueMs: next_due_ms,
    };
  }

  async events(after: EventCursor | null, limit: number): Promise<EventReading> {
    type Row = { generation: string; first: string | null; last: string; events: EventsJson[] };
    const [row] = await this.questions.rows<Row>("reading events", this.sql.events, [
      after?.id ?? Number.MAX_SAFE_INTEGER,
      limit,
    ]);
    const { generation, first, last, events } = row as Row;
    const known = after?.generation === generation && after.id <= Number(last) && after.id >= Number(first ?? 1) - 1;
    if (!known) return { kind: "reset", generation, last: Number(last) };
    const found = events.flatMap(readEvents).filter(({ id }) => id > after.id);
    return { kind: "events", generation, events: found.slice(0, limit) };
  }

  async agents() {
    return (await this.questions.rows<AgentJson>("reading the agents", this.sql.agents)).map(readAgent);
  }
}

/** Which index knows the jobs in this state. */
function statementFor(state: JobState | undefined): "queued" | "leased" | "buried" | "any" {
  if (state === "queued" || state === "leased") return state;
  return state === "failed" || state === "dead" ? "buried" : "any";
}
