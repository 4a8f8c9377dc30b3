import { HoldfastError } from "../../src/errors.js";
import type { Job, Json } from "../../src/jobs/core/job.js";
import type { Backoff } from "../../src/queue/core/backoff.js";
import type { FenceToken } from "../../src/store/fence-token.js";
import type { JobBook } from "../../src/store/job-contract.js";
import type { JobAnswer, JobOrder, Result } from "../../src/store/job-orders.js";
import { Player, type StoreHarness } from "./harness.js";
import { heartbeat, leaseOrder, result, submission } from "./job-leader.js";

/** Jobs, leases and agents are numbers here: each side gives them the same names. */
export type JobAct =
  | {
      readonly kind: "submit";
      readonly job: number;
      readonly key: number | null;
      readonly priority: number;
      readonly demand: number;
      readonly later: boolean;
      readonly maxAttempts: number;
      readonly timeoutMs: number;
    }
  | {
      readonly kind: "lease";
      readonly agent: number;
      readonly skilled: boolean;
      readonly maxTasks: number;
      /** Asks again for an earlier lease. */
      readonly again: number | null;
    }
  | {
      readonly kind: "result";
      readonly job: number;
      /** By how much the epoch is off. */
      readonly behind: number;
      /** Under another's lease. */
      readonly astray: boolean;
      readonly outcome: Result["outcome"]["kind"];
      readonly waits: boolean;
    }
  | {
      readonly kind: "renew" | "give_back";
      readonly lease: number;
      readonly agent: number | null;
      readonly job: number;
    }
  | { readonly kind: "cancel" | "redrive"; readonly job: number }
  | { readonly kind: "heartbeat"; readonly agent: number; readonly registers: boolean }
  | { readonly kind: "remove_agent"; readonly agent: number };

export type JobTurn =
  | { readonly kind: "apply"; readonly acts: readonly JobAct[] }
  | { readonly kind: "compact"; readonly from: number; readonly olderThanMs: number }
  | { readonly kind: "pass"; readonly ms: number }
  | { readonly kind: "ripen" | "takeOver" | "writeLate" };

const agents = ["ann", "ben"] as const;
const everything = ["succeeded", "failed", "dead", "cancelled"] as const;

/** One store with jobs, and the same turns done to it. All that it tells is told without times. */
export class JobSide {
  private readonly harness: StoreHarness;
  private readonly player: Player;
  private readonly book: JobBook;
  private fence: FenceToken;
  private run = 0;
  private leases: string[] = [];
  private seen = 0;

  private constructor(harness: StoreHarness, player: Player, fence: FenceToken) {
    this.harness = harness;
    this.player = player;
    this.book = player.store.jobs;
    this.fence = fence;
  }

  static async open(harness: StoreHarness): Promise<JobSide> {
    const player = await Player.join(harness, "a");
    return new JobSide(harness, player, player.fence(await player.lead()));
  }

  /** Nothing of the last script is left. */
  async begin(): Promise<void> {
    this.run += 1;
    this.leases = [];
    const { jobs } = await this.book.jobs({}, { limit: 1_000 });
    const orders = jobs.map(({ jobId }) => ({ kind: "cancel", jobId }) as const);
    await this.book.apply(this.fence, orders);
    const all = { states: everything, jobsOlderThanMs: 0, eventsOlderThanMs: 0, agentsOlderThanMs: 0 };
    await this.book.compact(this.fence, { ...all, from: 0, limit: 100_000 });
    const start = await this.book.events(null, 1);
    this.seen = start.kind === "reset" ? start.last : 0;
  }

  close(): void {
    this.player.crash();
  }

  /** What an observer can tell of the turn. `gists`: what kinds of answers there were. */
  async do(turn: JobTurn): Promise<{ readonly gists: readonly string[] }> {
    const outcome = await this.perform(turn).catch((error: unknown) => {
      if (!(error instanceof HoldfastError)) throw error;
      return [error.code];
    });
    const { events, ...seen } = await this.look();
    // Leases that end together have no order.
    const told = turn.kind === "ripen" ? events.map(({ data }) => JSON.stringify(data)).sort() : events;
    return { outcome, events: told, ...seen, gists: gistsOf(turn, outcome) } as { gists: readonly string[] };
  }

  /** Everything that the book shows. */
  private async look(): Promise<{
    readonly events: readonly { readonly data: Json }[];
    readonly [other: string]: unknown;
  }> {
    const { jobs } = await this.book.jobs({}, { limit: 100 });
    const byState = await Promise.all(
      (["queued", "leased", "dead"] as const).map(async (state) => await this.book.jobs({ state }, { limit: 100 })),
    );
    const { generation } = await this.book.events(null, 1);
    const reading = await this.book.events({ generation, id: this.seen }, 1_000);
    const events = reading.kind === "events" ? reading.events : [];
    const first = this.seen;
    this.seen = events.at(-1)?.id ?? this.seen;
    const { counts, nextDueMs, oldestReadyMs } = await this.book.standing();
    return {
      jobs: jobs.map(described),
      lists: byState.map((page) => page.jobs.map(({ jobId }) => jobId)),
      events: events.map(({ id, kind, data }) => ({ id: id - first, kind, data })),
      counts,
      due: nextDueMs === null ? null : Math.min(9, Math.ceil(nextDueMs / 50_000)),
      hasReady: oldestReadyMs !== null,
      agents: (await this.book.agents()).map(({ name, capabilities, deletedAt }) => [
        name,
        capabilities,
        deletedAt !== null,
      ]),
    };
  }

  private async perform(turn: JobTurn): Promise<unknown> {
    const { book, fence } = this;
    switch (turn.kind) {
      case "apply": {
        const orders = await Promise.all(turn.acts.map(async (act) => await this.orderOf(act)));
        const { answers } = await book.apply(fence, orders);
        return answers.map(withoutTimes);
      }
      case "ripen": {
        const { ripened, lost } = await book.ripen(fence, 100);
        return { ripened, lost: [...lost].sort((one, other) => (one.jobId < other.jobId ? -1 : 1)) };
      }
      case "compact": {
        const olderThan = { jobsOlderThanMs: turn.olderThanMs, agentsOlderThanMs: turn.olderThanMs };
        const first = (await book.jobs({}, { limit: 100 })).jobs.at(-1)?.n ?? 0;
        const slice = { from: first + turn.from, limit: 4, eventsOlderThanMs: 1e12 };
        const { jobs, agents: gone, next } = await book.compact(fence, { states: everything, ...olderThan, ...slice });
        return { jobs, gone, next: next === null ? null : next - first };
      }
      case "pass":
        return await this.harness.advance(turn.ms);
      case "takeOver":
        await this.player.release(fence.epoch);
        this.fence = this.player.fence(await this.player.lead());
        return "taken over";
      case "writeLate": {
        const late = { ...fence, epoch: this.player.fence(fence.epoch - 1n).epoch };
        return await book.apply(late, [submission("late"), leaseOrder("late")]);
      }
    }
  }

  private nameOf(job: number): string {
    return `${this.run}/${job}`;
  }

  private async orderOf(act: JobAct): Promise<JobOrder> {
    switch (act.kind) {
      case "submit":
        return this.submissionOf(act);
      case "lease": {
        const again = act.again === null ? undefined : this.leases.at(-1 - act.again);
        const leaseId = again ?? `${this.run}/l${this.leases.length}`;
        if (again === undefined) this.leases.push(leaseId);
        const asked = { agent: agents[act.agent] ?? "", capabilities: act.skilled ? ["x", "gpu"] : [] };
        return leaseOrder(leaseId, { ...asked, maxTasks: act.maxTasks, ttlMs: 200_000 });
      }
      case "result":
        return await this.resultOf(act);
      case "renew": {
        const progress = [{ jobId: this.nameOf(act.job), progress: act.lease }];
        return { kind: "renew", ...this.holderOf(act), ttlMs: 200_000, progress };
      }
      case "give_back":
        return {
          kind: "give_back",
          ...this.holderOf(act),
          jobIds: act.job > 3 ? null : [this.nameOf(act.job)],
          ...(act.job % 2 === 0 ? {} : { mostCrashes: 2 }),
        };
      case "cancel":
      case "redrive":
        return { kind: act.kind, jobId: this.nameOf(act.job) };
      case "heartbeat":
        return heartbeat(agents[act.agent] ?? "", { registers: act.registers, capabilities: ["gpu"] });
      case "remove_agent":
        return { kind: "remove_agent", agent: agents[act.agent] ?? "" };
    }
  }

  private holderOf(act: { readonly lease: number; readonly agent: number | null }) {
    return { leaseId: this.leases.at(-1 - act.lease) ?? "none", agent: agents[act.agent ?? act.lease % 2] ?? "" };
  }

  private submissionOf(act: JobAct & { readonly kind: "submit" }): JobOrder {
    const { job, key, priority, demand, maxAttempts, timeoutMs } = act;
    const asked = [{}, { capabilities: ["gpu"] }, { pinnedAgent: "ben" }, { namespace: "elsewhere" }][demand];
    return submission(this.nameOf(job), {
      ...asked,
      payload: priority,
      priority,
      maxAttempts,
      timeoutMs,
      idempotencyKey: key === null ? null : `${this.run}/k${key}`,
      runAt: act.later ? 4_000_000_000_000 : null,
    });
  }

  /** Mostly of whoever has the job, and under the lease that it has. */
  private async resultOf({ job, behind, astray, outcome, waits }: JobAct & { readonly kind: "result" }) {
    const held = await this.book.job(this.nameOf(job));
    const [leaseId, agent] = astray ? ["another", "ben"] : [held?.leaseId ?? "none", held?.agent ?? "ann"];
    const backoff = waits ? { firstMs: 125_000, capMs: 375_000 } : { firstMs: 0, capMs: 0 };
    return result(this.nameOf(job), (held?.jobEpoch ?? 0) - behind, {
      leaseId,
      agent,
      outcome: outcomeOf(outcome, backoff),
    });
  }
}

/** After all of the jitter the pauses are hundreds of seconds again. */
function outcomeOf(kind: Result["outcome"]["kind"], backoff: Backoff): Result["outcome"] {
  if (kind === "succeeded") return { kind, result: { done: true } };
  return kind === "failed" ? { kind, error: "boom", backoff, jitter: 1 } : { kind, error: "no" };
}

function described({ n: _n, waitsUntil, createdAt: _created, updatedAt, ...job }: Job) {
  const waits = waitsUntil === null ? null : Math.round((waitsUntil - updatedAt) / 1_000);
  return { ...job, waits: waits === null || waits > 1_000_000 ? waits !== null : waits };
}

function withoutTimes(answer: JobAnswer): unknown {
  return "expiresAt" in answer ? { ...answer, expiresAt: 0 } : answer;
}

function gistsOf(turn: JobTurn, outcome: unknown): readonly string[] {
  if (turn.kind === "ripen") {
    const { ripened, lost } = outcome as { ripened: number; lost: readonly { state: string }[] };
    return [...(ripened > 0 ? ["ripened"] : []), ...lost.map(({ state }) => `lost ${state}`)];
  }
  if (turn.kind === "compact") return (outcome as { jobs: number }).jobs > 0 ? ["compacted"] : [];
  if (turn.kind === "writeLate") return [`late ${String(outcome)}`];
  if (turn.kind !== "apply") return [];
  return turn.acts.map((act, index) => {
    const { kind, repeated, jobIds } =
      (outcome as { kind: string; repeated?: boolean; jobIds?: unknown[] }[])[index] ?? {};
    const detail = repeated === true ? " again" : jobIds?.length === 0 ? " nothing" : "";
    return `${act.kind} ${kind}${detail}`;
  });
}
