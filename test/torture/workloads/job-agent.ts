import type { TaskEvent } from "../history.js";
import type { Scene } from "../workload.js";
import { type Asked, LeaderClient } from "./leader-client.js";
import { rest } from "./pace.js";

/** A job that is held silently is another's after so long: `store.lease_ttl_seconds` of the nodes. */
const leaseTtlMs = 3_000;
const restMs = 100;
const pollMs = 500;
/** Prime to 100: of a hundred tasks in a row each draw comes once. */
const turnStep = 61;

interface Task {
  readonly leaseId: string;
  readonly jobId: string;
  readonly jobEpoch: number;
  readonly ms: number;
  readonly fails: boolean;
}

/** Of a hundred tasks: how many it reports twice, and how many it holds until another must have them. */
export interface Manners {
  readonly replays: number;
  readonly late: number;
}

/** An agent by the contract alone, so that every answer is on record: it leases, works, reports until somebody has answered. */
export class JobAgent {
  private readonly name: string;
  private readonly scene: Scene;
  private readonly manners: Manners;
  private readonly client: LeaderClient;
  private worked = 0;

  constructor(name: string, scene: Scene, manners: Manners) {
    this.name = name;
    this.scene = scene;
    this.manners = manners;
    this.client = new LeaderClient(name, scene);
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const tasks = await this.lease();
      await Promise.all(tasks.map((task) => this.work(task, signal)));
      if (tasks.length === 0) await rest(restMs, signal);
    }
  }

  private async lease(): Promise<readonly Task[]> {
    const wish = { agent: this.name, max_tasks: 4, timeout_ms: pollMs };
    const asked = await this.client.post("/v1/leases", wish);
    if (asked.status !== 200) return [];
    const { lease_id: leaseId, tasks } = asked.body as unknown as Lease;
    return tasks.map(({ job_id: jobId, job_epoch: jobEpoch, payload }) => {
      const task = { leaseId, jobId, jobEpoch, ms: payload?.ms ?? 0, fails: payload?.fails === true };
      this.tell(task, asked, { what: "leased", replay: false });
      return task;
    });
  }

  private async work(task: Task, signal: AbortSignal): Promise<void> {
    // By turns and not by lot, so that the few tasks of a short run are enough for each of its manners.
    const draw = (this.worked++ * turnStep) % 100;
    await rest(draw < this.manners.late ? leaseTtlMs + 2 * restMs : task.ms, signal);
    await this.report(task, { replay: false });
    if (draw < this.manners.late + this.manners.replays) await this.report(task, { replay: true });
  }

  /** The same again until it counts, or is refused: so it is when its lease has gone to another. */
  private async report(task: Task, { replay }: { readonly replay: boolean }): Promise<void> {
    const { leaseId, jobId, jobEpoch } = task;
    const failed = task.fails && jobEpoch === 1;
    const result = { agent: this.name, job_epoch: jobEpoch };
    const outcome = failed ? { status: "failed", error: "it fails the first time" } : { status: "succeeded", result };
    const report = { agent: this.name, lease_id: leaseId, job_id: jobId, job_epoch: jobEpoch, ...outcome };
    const patience = AbortSignal.timeout(10 * leaseTtlMs);
    for (let isAgain = replay; !patience.aborted; isAgain = true) {
      const asked = await this.client.post("/v1/results", report);
      const told = failed ? "failed" : JSON.stringify(result);
      this.tell(task, asked, { what: "reported", replay: isAgain, result: told });
      if (asked.outcome !== "unknown") return;
      await rest(restMs, patience);
    }
  }

  private tell(
    { jobId, jobEpoch }: Task,
    { from, to, outcome, code, body }: Asked,
    more: Pick<TaskEvent, "what" | "replay"> & { readonly result?: string },
  ): void {
    const shown = code ?? (body.repeated === true ? "REPEATED" : undefined);
    const { name: agent } = this;
    this.scene.log({
      by: agent,
      at: to,
      from,
      to,
      kind: "task",
      agent,
      job: jobId,
      attempt: jobEpoch,
      outcome,
      ...more,
      ...(shown === undefined ? {} : { code: shown }),
    });
  }
}

interface Lease {
  readonly lease_id: string;
  readonly tasks: readonly {
    readonly job_id: string;
    readonly job_epoch: number;
    readonly payload: { readonly ms?: number; readonly fails?: boolean } | null;
  }[];
}
