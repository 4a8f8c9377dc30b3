import { type Answer, JobsClient } from "./jobs-client.js";
import type { Handing, ReportedTask } from "./jobs-history.js";
import type { JobsListener } from "./jobs-listener.js";

interface Task {
  readonly leaseId: string;
  readonly jobId: string;
  readonly jobEpoch: number;
}

const name = "late";

/**
 * An agent by the contract alone, and a bad one: it tells each result twice; and of every other lease it lets the time run out,
 * waits until another has been handed the job, and reports then.
 */
export class LateAgent {
  readonly handings: Handing[] = [];
  readonly reports: ReportedTask[] = [];
  private readonly client: JobsClient;
  private readonly listener: JobsListener;
  private readonly stopping = new AbortController();
  private readonly late: Task[] = [];

  constructor(urls: readonly string[], listener: JobsListener) {
    this.client = new JobsClient(urls);
    this.listener = listener;
  }

  /** Works until it is stopped. What it holds then, it still waits for. A lease that lasts comes first: the other may take all its time. */
  async run(): Promise<void> {
    for (let leases = 0; !this.stopping.signal.aborted; ) {
      const tasks = await this.lease();
      if (tasks.length === 0) continue;
      leases += 1;
      if (leases % 2 === 1) for (const task of [...tasks, ...tasks]) await this.report(task);
      else {
        await this.listener.until("others have the late jobs", () => tasks.every((task) => this.isReplaced(task)));
        for (const task of tasks) await this.report(task);
        this.late.push(...tasks);
      }
    }
  }

  stop(): void {
    this.stopping.abort();
  }

  /** Tells all its late results once more; answers how many there were. */
  async tellAgain(): Promise<number> {
    for (const task of this.late) await this.report(task);
    return this.late.length;
  }

  private async lease(): Promise<readonly Task[]> {
    const wish = { agent: name, max_tasks: 3, timeout_ms: 500 };
    const { status, body } = await this.client.post("/v1/leases", wish);
    if (status === 204) return [];
    if (status !== 200) throw new Error(`POST /v1/leases answered ${status} ${JSON.stringify(body)}`);
    const { lease_id: leaseId, tasks } = body as unknown as {
      readonly lease_id: string;
      readonly tasks: readonly { readonly job_id: string; readonly job_epoch: number }[];
    };
    return tasks.map(({ job_id: jobId, job_epoch: jobEpoch }) => {
      this.handings.push({ agent: name, jobId, jobEpoch });
      return { leaseId, jobId, jobEpoch };
    });
  }

  private isReplaced({ jobId, jobEpoch }: Task): boolean {
    return (this.listener.leased.get(jobId) ?? 0) > jobEpoch;
  }

  private async report({ leaseId, jobId, jobEpoch }: Task): Promise<void> {
    const result = { agent: name, job_epoch: jobEpoch };
    const report = { agent: name, lease_id: leaseId, job_id: jobId, job_epoch: jobEpoch, status: "succeeded", result };
    const answer = answerOf(await this.client.post("/v1/results", report));
    this.reports.push({ agent: name, jobId, jobEpoch, status: "succeeded", answer });
  }
}

function answerOf({ status, body }: Answer): ReportedTask["answer"] {
  if (status === 200) return body.repeated === true ? "repeated" : "accepted";
  return status === 409 && body.error === "STALE_EPOCH" && body.field === "job_epoch" ? "stale" : "refused";
}
