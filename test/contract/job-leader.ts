import { afterEach, beforeEach } from "vitest";
import type { Json } from "../../src/jobs/core/job.js";
import type { FenceToken } from "../../src/store/fence-token.js";
import type { JobBook } from "../../src/store/job-contract.js";
import type {
  Heartbeat,
  JobAnswer,
  JobOrder,
  LeaseAnswer,
  LeaseOrder,
  Result,
  ResultAnswer,
  Submission,
  Task,
} from "../../src/store/job-orders.js";
import { Player, type StoreHarness } from "./harness.js";

interface Opened {
  readonly harness: StoreHarness;
  /** Node `a`, whose term the leader has. */
  readonly player: Player;
  readonly leader: JobLeader;
}

/** Before each test of this block: a database of its own, and on it a leader of the jobs. */
export function openJobsForEach(makeHarness: () => Promise<StoreHarness>, opened: (opening: Opened) => void): void {
  let current: Omit<Opened, "leader"> | null = null;

  beforeEach(async () => {
    const harness = await makeHarness();
    const player = await Player.join(harness, "a");
    current = { harness, player };
    opened({ harness, player, leader: await JobLeader.elect(player) });
  });

  afterEach(async () => {
    current?.player.crash();
    await current?.harness[Symbol.asyncDispose]();
    current = null;
  });
}

/** The leader of the jobs room as the store knows it: whatever the test tells it to do, under the epoch it was elected with. */
export class JobLeader {
  readonly book: JobBook;
  readonly fence: FenceToken;

  private constructor(book: JobBook, fence: FenceToken) {
    this.book = book;
    this.fence = fence;
  }

  static async elect(player: Player): Promise<JobLeader> {
    return new JobLeader(player.store.jobs, player.fence(await player.lead()));
  }

  async do(...orders: readonly JobOrder[]): Promise<readonly JobAnswer[]> {
    return (await this.book.apply(this.fence, orders)).answers;
  }

  async submit(jobId: string, rest: Partial<Submission> = {}): Promise<JobAnswer | undefined> {
    return (await this.do(submission(jobId, rest)))[0];
  }

  async lease(leaseId: string, rest: Partial<LeaseOrder> = {}): Promise<LeaseAnswer> {
    return (await this.do(leaseOrder(leaseId, rest)))[0] as LeaseAnswer;
  }

  /** The tasks of a lease that got some. */
  async take(leaseId: string, rest: Partial<LeaseOrder> = {}): Promise<readonly Task[]> {
    const answer = await this.lease(leaseId, rest);
    return answer.kind === "leased" ? answer.tasks : [];
  }

  /** The ids of what a lease hands out. */
  async takeIds(leaseId: string, rest: Partial<LeaseOrder> = {}): Promise<readonly string[]> {
    return (await this.take(leaseId, rest)).map(({ jobId }) => jobId);
  }

  async report(jobId: string, jobEpoch: number, rest: Partial<Result> = {}): Promise<ResultAnswer> {
    return (await this.do(result(jobId, jobEpoch, rest)))[0] as ResultAnswer;
  }

  async ripen(): Promise<{ readonly ripened: number; readonly lost: readonly unknown[] }> {
    const { ripened, lost } = await this.book.ripen(this.fence, 100);
    return { ripened, lost };
  }
}

export function submission(jobId: string, rest: Partial<Submission> = {}): Submission {
  return {
    kind: "submit",
    jobId,
    namespace: "default",
    op: "add",
    payload: { of: jobId },
    priority: 1,
    capabilities: [],
    pinnedAgent: null,
    runAt: null,
    timeoutMs: 3_600_000,
    maxAttempts: 3,
    idempotencyKey: null,
    cron: null,
    tick: null,
    ...rest,
  };
}

/** Of agent `ann`, for a minute. */
export function leaseOrder(leaseId: string, rest: Partial<LeaseOrder> = {}): LeaseOrder {
  const asked = { agent: "ann", namespace: "default", capabilities: [], maxTasks: 64, ttlMs: 60_000 };
  return { kind: "lease", leaseId, ...asked, ...rest };
}

export const done = (value: Json = null): Result["outcome"] => ({ kind: "succeeded", result: value });

/** Tried again after ten seconds, then twenty, then thirty. */
export const failed = (error = "boom", jitter = 0): Result["outcome"] => ({
  kind: "failed",
  error,
  backoff: { firstMs: 10_000, capMs: 30_000 },
  jitter,
});

/** Of agent `ann` under lease `l1`, a success. */
export function result(jobId: string, jobEpoch: number, rest: Partial<Result> = {}): Result {
  return { kind: "result", jobId, jobEpoch, leaseId: "l1", agent: "ann", outcome: done(), ...rest };
}

export function heartbeat(agent: string, rest: Partial<Heartbeat> = {}): Heartbeat {
  const told = { namespace: "default", capabilities: [], version: null, tasks: 0, registers: true };
  return { kind: "heartbeat", agent, ...told, ...rest };
}

/** Every event there is, as its kind and what it is about. */
export async function eventsOf(book: JobBook): Promise<readonly string[]> {
  const start = await book.events(null, 1);
  const reading = await book.events({ generation: start.generation, id: 0 }, 1_000);
  if (reading.kind === "reset") return ["reset"];
  return reading.events.map(({ kind, data }) => {
    const { job_id, agent } = data as { job_id?: string; agent?: string };
    return [kind, job_id, agent].filter((each) => each !== undefined).join(" ");
  });
}
