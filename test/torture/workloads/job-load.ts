import { monotonicMs } from "../clock.js";
import type { NodeTask } from "../node-order.js";
import type { Scene, Workload } from "../workload.js";
import { JobAgent } from "./job-agent.js";
import { LeaderClient } from "./leader-client.js";
import { runLibraryAgent } from "./library-agent.js";
import { rest, untilAborted } from "./pace.js";
import { atDatabase, untilNoneLeft } from "./until-settled.js";

const restMs = 100;
const longestTaskMs = 60;
/** Each of so many fails at its first attempt. */
const failsEach = 40;

export interface JobLoadOptions {
  readonly perSecond?: number;
  readonly agents?: number;
  readonly submitters?: number;
}

/** Jobs, submitted under keys of their own until they are acknowledged, and agents that work them off, some of them badly. */
export class JobLoad implements Workload {
  readonly name = "jobs";
  private readonly perSecond: number;
  private readonly agents: number;
  private readonly submitters: number;
  private readonly over = new AbortController();
  private working: Promise<unknown> = Promise.resolve();

  constructor({ perSecond = 15, agents = 4, submitters = 3 }: JobLoadOptions = {}) {
    this.perSecond = perSecond;
    this.agents = agents;
    this.submitters = submitters;
  }

  async prepare(): Promise<Partial<NodeTask>> {
    return await Promise.resolve({ jobs: { crons: true } });
  }

  /** Agents go on after the load has ended, until all is done. */
  async run(scene: Scene): Promise<void> {
    const agents = Array.from({ length: this.agents }, (_, index) => {
      const manners = { replays: index % 2 === 0 ? 20 : 0, late: index === 1 ? 10 : 0 };
      return new JobAgent(`agent-${index + 1}`, scene, manners).run(this.over.signal);
    });
    this.working = Promise.all([...agents, runLibraryAgent("library-agent", scene, this.over.signal)]);
    this.working.catch(() => undefined);
    await Promise.all(Array.from({ length: this.submitters }, (_, index) => this.submit(scene, index)));
    await untilAborted(scene.signal);
  }

  async settle(scene: Scene): Promise<void> {
    await untilNoneLeft("jobs", async () => {
      const { rows } = await atDatabase(scene.directUrl, (client) =>
        client.query<{ left: string }>(
          "SELECT count(*) AS left FROM holdfast.jobs WHERE op = 'work' AND state IN ('queued', 'leased')",
        ),
      );
      return Number(rows[0]?.left);
    });
    await this.stop();
    await this.tellEnd(scene);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  private async stop(): Promise<void> {
    this.over.abort();
    await this.working;
  }

  private async submit(scene: Scene, index: number): Promise<void> {
    const { signal, log } = scene;
    const by = `submitter-${index + 1}`;
    const client = new LeaderClient(by, scene, { first: index });
    const everyMs = (1_000 * this.submitters) / this.perSecond;
    for (let number = 1; !signal.aborted; number += 1) {
      const key = `${by}/${number}`;
      const payload = { key, ms: Math.round(scene.random.unit() * longestTaskMs), fails: number % failsEach === 0 };
      // Half of them are told apart by their id, the others by an idempotency key.
      const own = number % 2 === 0 ? { job_id: key } : { idempotency_key: key };
      for (let isTaken = false; !isTaken && !signal.aborted; ) {
        const { from, to, outcome, code, body } = await client.post("/v1/jobs", { op: "work", payload, ...own });
        const id = typeof body.job_id === "string" ? { id: body.job_id } : {};
        log({ by, at: to, from, to, kind: "submit", key, outcome, ...id, ...(code === undefined ? {} : { code }) });
        isTaken = outcome === "done";
        await rest(isTaken ? everyMs : restMs, signal);
      }
    }
  }

  /** All at one moment, since the crons go on. */
  private async tellEnd({ directUrl, log }: Scene): Promise<void> {
    const { jobs, ticks } = await atDatabase(directUrl, async (client) => {
      await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ");
      return {
        jobs: await client.query<JobRow>(
          `SELECT job_id, coalesce(payload->>'key', cron || ' ' || tick) AS key, state, job_epoch, result
           FROM holdfast.jobs ORDER BY n`,
        ),
        ticks: await client.query<TickRow>(
          "SELECT cron, extract(epoch FROM tick) AS second, job_id FROM holdfast.cron_ticks ORDER BY id",
        ),
      };
    });
    const by = "store";
    for (const { job_id: job, key, state, job_epoch: attempt, result } of jobs.rows) {
      const shown = result === null ? null : JSON.stringify(result);
      log({ by, at: monotonicMs(), kind: "job", job, key: key ?? "", state, attempt, result: shown });
    }
    for (const { cron, second, job_id: job } of ticks.rows) {
      log({ by, at: monotonicMs(), kind: "tick", cron, second: Number(second), job });
    }
  }
}

interface JobRow {
  readonly job_id: string;
  readonly key: string | null;
  readonly state: string;
  readonly job_epoch: number;
  readonly result: unknown;
}

interface TickRow {
  readonly cron: string;
  readonly second: string;
  readonly job_id: string | null;
}
