import type { Agent } from "../../jobs/core/agent.js";
import { isFinished, type Job, type JobState, jobStates } from "../../jobs/core/job.js";
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
import type { JobAnswer, JobOrder } from "../job-orders.js";
import { copyOf, counts, obey } from "./job-orders.js";
import type { MemoryJob, MemoryJobTables } from "./job-tables.js";

interface Commit {
  onCommit(effect: () => void): void;
}

type Fenced = (fence: FenceToken, fn: (tx: Commit) => Promise<void>) => Promise<void>;

/** What came free is handed out at once, so leases come last. */
const kindsInOrder: readonly JobOrder["kind"][] = [
  "result",
  "renew",
  "give_back",
  "cancel",
  "redrive",
  "submit",
  "heartbeat",
  "remove_agent",
  "lease",
];

/** Jobs in memory. Each write is done whole, at the commit of a fenced transaction, or not at all. */
export class MemoryJobBook implements JobBook {
  private readonly tables: MemoryJobTables;
  private readonly fenced: Fenced;

  constructor(tables: MemoryJobTables, fenced: Fenced) {
    this.tables = tables;
    this.fenced = fenced;
  }

  private async write<Result>(fence: FenceToken, apply: () => Result): Promise<Result> {
    const written: Result[] = [];
    await this.fenced(fence, async (tx) => await Promise.resolve(tx.onCommit(() => written.push(apply()))));
    return written[0] as Result;
  }

  async apply(fence: FenceToken, orders: readonly JobOrder[]): Promise<JobReply> {
    return await this.write(fence, () => {
      const answers: JobAnswer[] = [];
      for (const [index, order] of orders.entries()) {
        if (counts(this.tables, order)) answers[index] = obey(this.tables, order, fence.epoch);
      }
      for (const kind of kindsInOrder) {
        for (const [index, order] of orders.entries()) {
          if (order.kind === kind) answers[index] ??= obey(this.tables, order, fence.epoch);
        }
      }
      return {
        answers,
        nextDueMs: this.tables.nextDueMs(),
      };
    });
  }

  async ripen(fence: FenceToken, limit: number): Promise<Ripening> {
    return await this.write(fence, () => ({
      ripened: this.tables.ripen(limit, fence.epoch),
      lost: this.tables.loseLate(limit, fence.epoch),
      nextDueMs: this.tables.nextDueMs(),
    }));
  }

  async compact(fence: FenceToken, order: CompactOrder): Promise<Compaction> {
    return await this.write(fence, () => {
      const { jobs, events, agents } = this.tables;
      const now = this.tables.now();
      const slice = this.inOrder()
        .filter(({ n }) => n >= order.from)
        .slice(0, order.limit);
      const old = slice.filter(
        ({ state, updatedAt }) =>
          isFinished(state) && order.states.includes(state) && updatedAt <= now - order.jobsOlderThanMs,
      );
      for (const { jobId } of old) jobs.delete(jobId);
      const past = events
        .slice(0, order.limit)
        .filter(({ at, id }) => at <= now - order.eventsOlderThanMs && id < this.tables.lastEvent);
      events.splice(0, past.length);
      const working = new Set([...this.tables.leases.values()].map(({ agent }) => agent));
      const gone = [...agents.values()].filter(
        ({ name, deletedAt, lastHeartbeat }) =>
          (deletedAt ?? lastHeartbeat) <= now - order.agentsOlderThanMs && !working.has(name),
      );
      for (const { name } of gone) agents.delete(name);
      const last = slice.at(-1);
      const goesOn = slice.length === order.limit && (last?.createdAt ?? now) <= now - order.jobsOlderThanMs;
      const next = goesOn ? (last?.n ?? 0) + 1 : null;
      return { jobs: old.length, events: past.length, agents: gone.length, next };
    });
  }

  async job(jobId: string): Promise<Job | null> {
    const job = this.tables.jobs.get(jobId);
    return await Promise.resolve(job === undefined ? null : seen(job));
  }

  async jobs({ state, op, namespace, agent, since }: JobFilter, { limit, before }: Page): Promise<JobPage> {
    const found = this.inOrder()
      .reverse()
      .filter(
        (job) =>
          job.n < Number(before ?? Infinity) &&
          (state ?? job.state) === job.state &&
          (op ?? job.op) === job.op &&
          (namespace ?? job.namespace) === job.namespace &&
          (agent === undefined || (job.agent === agent && job.state !== "queued")) &&
          job.createdAt >= (since ?? 0),
      )
      .slice(0, limit);
    const next = found.length === limit ? `${found.at(-1)?.n}` : null;
    return await Promise.resolve({ jobs: found.map(seen), next });
  }

  async standing(): Promise<JobStanding> {
    const jobs = this.inOrder();
    const count = (state: JobState): number => jobs.filter((job) => job.state === state).length;
    const ready = jobs.filter(({ state, waitsUntil }) => state === "queued" && waitsUntil === null);
    const heads = new Map<string, MemoryJob>();
    for (const job of ready.toReversed()) {
      heads.set(JSON.stringify([job.namespace, job.pinnedAgent, job.capabilities, job.priority]), job);
    }
    const ages = [...heads.values()].map(({ updatedAt }) => this.tables.now() - updatedAt);
    return await Promise.resolve({
      counts: Object.fromEntries(jobStates.map((state) => [state, count(state)])) as Record<JobState, number>,
      submitted: this.tables.submitted,
      oldestReadyMs: ages.length === 0 ? null : Math.max(...ages),
      nextDueMs: this.tables.nextDueMs(),
    });
  }

  async events(after: EventCursor | null, limit: number): Promise<EventReading> {
    const { events, lastEvent: last } = this.tables;
    const generation = this.tables.identity();
    const known = after?.generation === generation && after.id <= last && after.id >= (events[0]?.id ?? 1) - 1;
    if (!known) return await Promise.resolve({ kind: "reset", generation, last });
    const found = events.filter(({ id }) => id > after.id).slice(0, limit);
    return { kind: "events", generation, events: found.map((event) => ({ ...event, data: copyOf(event.data) })) };
  }

  async agents(): Promise<readonly Agent[]> {
    const agents = [...this.tables.agents.values()].sort((one, other) => (one.name < other.name ? -1 : 1));
    const now = this.tables.now();
    return await Promise.resolve(agents.map((agent) => ({ ...agent, silentMs: now - agent.lastHeartbeat })));
  }

  private inOrder(): MemoryJob[] {
    return [...this.tables.jobs.values()];
  }
}

function seen(job: MemoryJob): Job {
  const { runUntil: _until, reportedEpoch: _epoch, reportedSuccess: _success, crashes: _crashes, ...rest } = job;
  const held = {
    leaseId: job.state === "leased" ? job.leaseId : null,
    agent: job.state === "queued" ? null : job.agent,
  };
  return { ...rest, ...held, payload: copyOf(job.payload), progress: copyOf(job.progress), result: copyOf(job.result) };
}
