import type { Json } from "../job.js";

/** What came of a task. */
export type TaskOutcome =
  | { readonly status: "succeeded"; readonly result: Json }
  /** `retry: false`: no further attempt would help. */
  | { readonly status: "failed"; readonly error: string; readonly retry: boolean };

/** A result on its way. The leader knows it by its job and its epoch, so it may be sent as often as it takes. */
export interface Report {
  readonly leaseId: string;
  readonly jobId: string;
  readonly jobEpoch: number;
  readonly outcome: TaskOutcome;
}

/** What the leader said to one result. */
export type ReportAnswer =
  | { readonly kind: "accepted" }
  /** The lease was lost: the job is another's, or nobody's. Sent again it would be refused again. */
  | { readonly kind: "stale" }
  | { readonly kind: "refused"; readonly code: string; readonly message: string }
  /** It could not be taken now. */
  | { readonly kind: "later" };

export interface SettledReport {
  readonly report: Report;
  readonly answer: Exclude<ReportAnswer, { readonly kind: "later" }>;
}

export interface OutboxLimits {
  /** No new work is asked for while so many wait. */
  readonly reports: number;
  readonly reportsInBatch: number;
  readonly bytesInBatch: number;
}

interface Waiting {
  readonly report: Report;
  readonly bytes: number;
}

/** What a report has beside its result: names and numbers. */
const bytesAround = 512;

/**
 * Results that no leader has accepted yet, in the order in which they came. One batch is on its way at a time, and what it
 * brings back decides: nothing leaves the outbox without an answer.
 */
export class Outbox {
  private readonly limits: OutboxLimits;
  private waiting: readonly Waiting[] = [];
  private sent: readonly Waiting[] = [];
  /** A batch was refused as a whole: so many are sent by themselves, to find out which of them is meant. */
  private alone = 0;

  constructor(limits: OutboxLimits) {
    this.limits = limits;
  }

  /** Those on their way included. */
  get size(): number {
    return this.waiting.length + this.sent.length;
  }

  get isFull(): boolean {
    return this.size >= this.limits.reports;
  }

  /** `bytes`: what its result has as JSON. */
  add(report: Report, bytes: number): void {
    this.waiting = [...this.waiting, { report, bytes: bytes + bytesAround }];
  }

  /** The next ones to send; none while others are on their way. */
  next(): readonly Report[] {
    if (this.sent.length > 0) return [];
    const most = this.alone > 0 ? 1 : this.limits.reportsInBatch;
    let bytes = 0;
    let count = 0;
    for (const each of this.waiting.slice(0, most)) {
      bytes += each.bytes;
      if (count > 0 && bytes > this.limits.bytesInBatch) break;
      count += 1;
    }
    this.sent = this.waiting.slice(0, count);
    this.waiting = this.waiting.slice(count);
    return this.sent.map(({ report }) => report);
  }

  /** An answer to each of those that were sent, in their order. */
  answered(answers: readonly ReportAnswer[]): readonly SettledReport[] {
    const settled: SettledReport[] = [];
    const kept: Waiting[] = [];
    for (const [index, each] of this.sent.entries()) {
      const answer = answers[index] ?? { kind: "later" };
      if (answer.kind === "later") kept.push(each);
      else if (answer.kind === "refused" && isOfContent(answer.code) && each.report.outcome.status === "succeeded") {
        kept.push(unacceptable(each, answer.message));
      } else settled.push({ report: each.report, answer });
    }
    this.alone = Math.max(0, this.alone - 1);
    this.putBack(kept);
    return settled;
  }

  /** Nobody answered: all of them are sent again. */
  unanswered(): void {
    this.putBack(this.sent);
  }

  /** The request was refused as a whole. One alone is meant by that; of several, each is asked about by itself. */
  refused(code: string, message: string): readonly SettledReport[] {
    const answer: ReportAnswer = code === "STALE_EPOCH" ? { kind: "stale" } : { kind: "refused", code, message };
    if (this.sent.length === 1) return this.answered([answer]);
    this.alone = this.sent.length;
    this.putBack(this.sent);
    return [];
  }

  private putBack(reports: readonly Waiting[]): void {
    this.waiting = [...reports, ...this.waiting];
    this.sent = [];
  }
}

/** The leader does not take such a result, whoever sends it. Then at least it learns that there is one. */
function isOfContent(code: string): boolean {
  return code === "INVALID_REQUEST" || code === "BODY_TOO_LARGE" || code === "BAD_REQUEST";
}

function unacceptable({ report }: Waiting, why: string): Waiting {
  const outcome = { status: "failed", error: `the result was refused: ${why}`, retry: false } as const;
  return { report: { ...report, outcome }, bytes: bytesAround + why.length };
}
