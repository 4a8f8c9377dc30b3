import { randomUUID } from "node:crypto";
import type { DueRenewal } from "../core/agent/lease-book.js";
import type { Report, ReportAnswer } from "../core/agent/outbox.js";
import {
  type AgentRequest,
  giveBackRequest,
  heartbeatRequest,
  leaseRequest,
  renewRequest,
  resultsRequest,
} from "../core/agent/request.js";
import { type LeasedWork, type RenewedLease, readRenewal, readReportAnswers, readWork } from "../core/agent/work.js";
import { AccessPatience, hopeless } from "./access-patience.js";
import type { AgentSettings } from "./agent-settings.js";
import { LeaderLink, type Question, type Reached } from "./leader-link.js";
import {
  complaints,
  type LinkAnswer,
  leaseLosses,
  type WorkerBeat,
  type WorkLink,
  type WorkWish,
} from "./work-link.js";

/** How long any question but the one for work may take: the leader answers in milliseconds, or is frozen. */
const answerMs = 5_000;
/** Beside the wait itself. */
const pollSlackMs = 5_000;

type Reading<Answer> = Pick<Question<Answer>, "read" | "final" | "signal"> & { readonly timeoutMs?: number };

/** The way of an agent: HTTP alone, with a token. */
export class HttpWorkLink implements WorkLink {
  private readonly settings: AgentSettings;
  private readonly link: LeaderLink;
  private readonly patience: AccessPatience;
  /** The lease that was asked for last, as long as nobody has answered. */
  private unanswered: string | null = null;

  constructor(settings: AgentSettings) {
    this.settings = settings;
    this.link = new LeaderLink(settings);
    this.patience = new AccessPatience(settings);
  }

  async beat(beat: WorkerBeat, signal: AbortSignal): Promise<LinkAnswer<null>> {
    const request = heartbeatRequest(this.settings, beat);
    return this.patiently(await this.ask(request, { read: () => "heard", final: hopeless, signal }), () => null);
  }

  async lease({ maxTasks, waitMs }: WorkWish, signal: AbortSignal): Promise<LinkAnswer<LeasedWork | "none">> {
    // Asked for again under the same name until an answer comes: tasks whose answer was lost come with it, and cost no attempt.
    const leaseId = this.unanswered ?? randomUUID();
    this.unanswered = leaseId;
    const request = leaseRequest(this.settings, { maxTasks, waitMs, leaseId });
    const timeoutMs = waitMs + pollSlackMs;
    const answer = await this.ask(request, { read: readWork, final: hopeless, timeoutMs, signal });
    if (answer.kind === "served") this.unanswered = null;
    // Work may have been on its way to an agent that stops: nobody else would have it before the lease runs out.
    if (answer.kind === "called_off") await this.giveBack(leaseId, AbortSignal.timeout(answerMs));
    return this.patiently(answer, (work) => work);
  }

  async renew(due: DueRenewal, signal: AbortSignal): Promise<LinkAnswer<RenewedLease>> {
    const request = renewRequest(this.settings, due);
    return withoutReason(
      await this.ask(request, { read: readRenewal, final: [...leaseLosses, ...complaints], signal }),
    );
  }

  async report(reports: readonly Report[], signal: AbortSignal): Promise<LinkAnswer<readonly ReportAnswer[]>> {
    const answer = await this.ask(resultsRequest(this.settings, reports), {
      read: (body) => readReportAnswers(body, reports.length),
      final: [...complaints, "STALE_EPOCH"],
      signal,
    });
    return withoutReason(answer);
  }

  async giveBack(leaseId: string, signal: AbortSignal): Promise<LinkAnswer<null>> {
    const request = giveBackRequest(this.settings, leaseId);
    const final = [...leaseLosses, "INVALID_REQUEST"];
    const answer = await this.ask(request, { read: () => "given back", final, signal });
    return answer.kind === "served" ? { ...answer, answer: null } : withoutReason(answer);
  }

  async probe(timeoutMs: number, signal: AbortSignal): Promise<void> {
    await this.link.probe(timeoutMs, signal);
  }

  close(): void {
    this.link.close();
  }

  private async ask<Answer>(request: AgentRequest, reading: Reading<Answer>): Promise<Reached<Answer>> {
    return await this.link.ask({ timeoutMs: answerMs, ...request, ...reading });
  }

  /** Whoever asks for nothing but to be let in hears when that is no use. */
  private patiently<Answer, Shown>(answer: Reached<Answer>, show: (answer: Answer) => Shown): LinkAnswer<Shown> {
    switch (answer.kind) {
      case "served":
        this.patience.served();
        return { ...answer, answer: show(answer.answer) };
      case "refused":
        return { kind: "hopeless", error: this.patience.refused(answer.code, answer.message) };
      case "again": {
        const error = this.patience.again(answer.refusal);
        return error === null ? { kind: "again" } : { kind: "hopeless", error };
      }
      case "called_off":
        return answer;
    }
  }
}

function withoutReason<Answer>(answer: Reached<Answer>): LinkAnswer<Answer> {
  return answer.kind === "again" ? { kind: "again" } : answer;
}
