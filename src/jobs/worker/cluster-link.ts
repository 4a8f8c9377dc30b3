import type { Clock } from "../../election/clock.js";
import { HoldfastError } from "../../errors.js";
import { pause } from "../../lifecycle/pause.js";
import { type Backoff, backoffMs } from "../../queue/core/backoff.js";
import type { LeaseAnswer, ResultAnswer } from "../../store/job-orders.js";
import type { WorkSettings } from "../agent/agent-settings.js";
import type { LinkAnswer, WorkerBeat, WorkLink, WorkWish } from "../agent/work-link.js";
import type { DueRenewal } from "../core/agent/lease-book.js";
import type { Report, ReportAnswer } from "../core/agent/outbox.js";
import type { LeasedWork, RenewedLease } from "../core/agent/work.js";
import type { Json } from "../core/job.js";
import { carryOut, type OrderTaker } from "./order-carrying.js";
import type { OrderPost } from "./order-post.js";
import { isPassing, type WorkerAnswer, type WorkerOrder } from "./worker-order.js";

export interface ClusterLinkParts {
  readonly settings: WorkSettings;
  readonly post: Pick<OrderPost, "ask" | "newId">;
  /** The jobs of this node: where it leads, nothing has to be written to ask it. */
  readonly jobs: OrderTaker & { readonly isOpen: boolean };
  readonly clock: Clock;
  readonly random: () => number;
  /** Where this node leads, whoever else can do the work is asked before it. */
  readonly isLastResort: boolean;
}

/** How long any order but the one for work may wait: the leader answers in milliseconds, or there is none. */
const answerMs = 5_000;
const pollSlackMs = 5_000;
const restBackoff: Backoff = { firstMs: 50, capMs: 2_000 };

type Kind = WorkerOrder["kind"];
type Done<Of extends Kind> = Extract<WorkerAnswer<Of>, { kind: "done" }>;

/** The way of a worker of the cluster: through the database, or straight to the room where its own node leads. */
export class ClusterLink implements WorkLink {
  private readonly parts: ClusterLinkParts;
  private failures = 0;
  /** Leases that were asked for and not heard of again: what is under them goes back before anything new is asked for. */
  private readonly unheard = new Set<string>();

  constructor(parts: ClusterLinkParts) {
    this.parts = parts;
  }

  async beat({ version, tasks, registers }: WorkerBeat, signal: AbortSignal): Promise<LinkAnswer<null>> {
    const order = { kind: "heartbeat", ...this.who(), version, tasks, registers } as const;
    return await this.ask<"heartbeat", null>(order, signal, ({ answer }) =>
      answer.kind === "deleted" ? this.deleted() : served(null),
    );
  }

  async lease(wish: WorkWish, signal: AbortSignal): Promise<LinkAnswer<LeasedWork | "none">> {
    if (!(await this.giveBackUnheard(signal))) return { kind: "again" };
    const { maxTasks, waitMs, running, places } = wish;
    const order = { kind: "lease", ...this.who(), maxTasks, waitMs, running, places } as const;
    const id = this.parts.post.newId();
    this.unheard.add(id);
    const asked = { id, timeoutMs: waitMs + pollSlackMs };
    const answer = await this.ask<"lease", LeasedWork | "none">(order, signal, (done) => this.workOf(done), asked);
    if (answer.kind === "served" || answer.kind === "hopeless") this.unheard.delete(id);
    // Where it was called off the agent stops: this is the last that is asked for it.
    else if (answer.kind === "called_off") await this.giveBackUnheard(new AbortController().signal);
    return answer;
  }

  async renew({ leaseId, progress }: DueRenewal, signal: AbortSignal): Promise<LinkAnswer<RenewedLease>> {
    const order = { kind: "renew", agent: this.parts.settings.name, leaseId, progress } as const;
    return await this.ask<"renew", RenewedLease>(order, signal, ({ answer, ttlMs }) => {
      switch (answer.kind) {
        case "renewed":
          return served({ ttlMs, jobIds: answer.jobIds });
        case "unknown":
          return { kind: "refused", code: "NOT_FOUND", message: "there is no such lease" };
        case "foreign":
          return { kind: "refused", code: "FORBIDDEN", message: "this lease is another's" };
      }
    });
  }

  async report(reports: readonly Report[], signal: AbortSignal): Promise<LinkAnswer<readonly ReportAnswer[]>> {
    const { name: agent } = this.parts.settings;
    const results = reports.map((report) => ({ ...report, agent }));
    return await this.ask<"report", readonly ReportAnswer[]>({ kind: "report", results }, signal, ({ answer }) =>
      served(answer.map(reportAnswerOf)),
    );
  }

  async giveBack(leaseId: string, signal: AbortSignal): Promise<LinkAnswer<null>> {
    const order = { kind: "give_back", agent: this.parts.settings.name, leaseId } as const;
    return await this.ask<"give_back", null>(order, signal, () => served(null));
  }

  /** The registry tells who lives: there is nothing to probe. */
  async probe(): Promise<void> {
    await Promise.resolve();
  }

  close(): void {
    // The post is its node's: others use it, too.
  }

  private who() {
    const { name: agent, namespace, capabilities } = this.parts.settings;
    return { agent, namespace, capabilities };
  }

  private workOf({ answer, ttlMs }: Done<"lease">): LinkAnswer<LeasedWork | "none"> {
    switch (answer.kind) {
      case "leased":
        return served(leasedWork(answer, ttlMs));
      case "none":
        return served("none");
      case "deleted":
        return this.deleted();
      case "foreign":
        return { kind: "again" };
    }
  }

  private deleted(): LinkAnswer<never> {
    const { name } = this.parts.settings;
    const way = "restart this node to register it anew";
    return { kind: "hopeless", error: new HoldfastError("AGENT_DELETED", `Agent "${name}" was deleted: ${way}.`) };
  }

  private async giveBackUnheard(signal: AbortSignal): Promise<boolean> {
    for (const leaseId of this.unheard) {
      const answer = await this.giveBack(leaseId, signal);
      if (answer.kind === "again" || answer.kind === "called_off") return false;
      this.unheard.delete(leaseId);
    }
    return true;
  }

  private async ask<Of extends Kind, Answer>(
    order: Extract<WorkerOrder, { readonly kind: Of }>,
    signal: AbortSignal,
    read: (done: Done<Of>) => LinkAnswer<Answer>,
    { id = this.parts.post.newId(), timeoutMs = answerMs } = {},
  ): Promise<LinkAnswer<Answer>> {
    const { post, jobs, clock, isLastResort } = this.parts;
    const sentAt = clock.mono();
    if (signal.aborted) return { kind: "called_off" };
    const answer = jobs.isOpen
      ? await carryOut(jobs, order, { id, signal, isLastResort })
      : await post.ask(id, order, { timeoutMs, signal });
    if (answer?.kind === "done") {
      this.failures = 0;
      const told = read(answer as Done<Of>);
      return told.kind === "served" ? { ...told, sentAt } : told;
    }
    if (signal.aborted) return { kind: "called_off" };
    if (answer?.kind === "refused" && !isPassing(answer.code)) return answer;
    return await this.rest(signal);
  }

  private async rest(signal: AbortSignal): Promise<LinkAnswer<never>> {
    const { clock, random } = this.parts;
    this.failures += 1;
    await pause(clock, backoffMs(this.failures, restBackoff, random()), signal);
    return { kind: "again" };
  }
}

/** When it was sent is added by whoever sent it. */
function served<Answer>(answer: Answer): LinkAnswer<Answer> {
  return { kind: "served", answer, sentAt: 0 };
}

function leasedWork({ leaseId, tasks }: Extract<LeaseAnswer, { kind: "leased" }>, ttlMs: number): LeasedWork {
  return {
    leaseId,
    ttlMs,
    tasks: tasks.map(({ jobId, jobEpoch, op, payloadText, attempt, timeoutMs }) => ({
      jobId,
      jobEpoch,
      op,
      payload: JSON.parse(payloadText) as Json,
      attempt,
      timeoutMs,
    })),
  };
}

function reportAnswerOf(answer: ResultAnswer): ReportAnswer {
  switch (answer.kind) {
    case "accepted":
    case "stale":
      return { kind: answer.kind };
    case "unknown":
      return { kind: "refused", code: "NOT_FOUND", message: "there is no such job" };
    case "foreign":
      return { kind: "refused", code: "FORBIDDEN", message: "this lease is another's" };
  }
}
