import type { Json } from "../job.js";

/** A task, by the lease it was handed out under. */
export interface HeldTask {
  readonly leaseId: string;
  readonly jobId: string;
}

export interface ProgressNote {
  readonly jobId: string;
  readonly progress: Json;
}

/** A lease to renew now, with what is new about its tasks. */
export interface DueRenewal {
  readonly leaseId: string;
  readonly progress: readonly ProgressNote[];
}

interface HeldLease {
  /** Null: the leader did not say. Then it is renewed often, and nobody here judges when it has run out. */
  ttlMs: number | null;
  renewAt: number;
  runsOutAt: number;
  isUnderWay: boolean;
  readonly jobIds: Set<string>;
  readonly progress: Map<string, Json>;
  progressAt: number;
}

/** Two renewals may be lost before the lease is. */
const renewalsInTtl = 3;
const longestRenewMs = 20_000;
const unknownRenewMs = 5_000;

/**
 * The leases that an agent holds, and when each has to be renewed: at a third of its time, or sooner where a task has told how
 * far it is. A lease is held while one of its tasks runs, or has a result that no leader has accepted yet.
 *
 * Times are monotonic. A renewal counts from its sending. A new lease counts from its arrival, for a long poll may have been
 * sent long before the lease was made; the leader judges by the epoch in any case.
 */
export class LeaseBook {
  private readonly leases = new Map<string, HeldLease>();
  private readonly progressEveryMs: number;

  constructor(progressEveryMs: number) {
    this.progressEveryMs = progressEveryMs;
  }

  get leaseIds(): readonly string[] {
    return [...this.leases.keys()];
  }

  take(leaseId: string, jobIds: readonly string[], ttlMs: number | null, now: number): void {
    const times = timesOf(ttlMs, now);
    const lease = { ttlMs, ...times, isUnderWay: false, progressAt: now, progress: new Map<string, Json>() };
    this.leases.set(leaseId, { ...lease, jobIds: new Set(jobIds) });
  }

  /** Nothing more is to be done about this task. */
  settled({ leaseId, jobId }: HeldTask): void {
    const lease = this.leases.get(leaseId);
    lease?.jobIds.delete(jobId);
    lease?.progress.delete(jobId);
    if (lease?.jobIds.size === 0) this.leases.delete(leaseId);
  }

  told({ leaseId, jobId }: HeldTask, progress: Json): void {
    const lease = this.leases.get(leaseId);
    if (lease?.jobIds.has(jobId) === true) lease.progress.set(jobId, progress);
  }

  /** When something is to be done next; null while nothing is. */
  dueAt(): number | null {
    let at: number | null = null;
    for (const lease of this.leases.values()) {
      const due = Math.min(lease.runsOutAt, lease.isUnderWay ? Number.POSITIVE_INFINITY : this.renewalAt(lease));
      if (due < (at ?? Number.POSITIVE_INFINITY)) at = due;
    }
    return at;
  }

  /** The leases to renew now. Each is under way until it is renewed, kept or lost. */
  due(now: number): readonly DueRenewal[] {
    const due: DueRenewal[] = [];
    for (const [leaseId, lease] of this.leases) {
      if (lease.isUnderWay || this.renewalAt(lease) > now) continue;
      due.push({ leaseId, progress: [...lease.progress].map(([jobId, progress]) => ({ jobId, progress })) });
      lease.isUnderWay = true;
      lease.progress.clear();
    }
    return due;
  }

  /** `jobIds`: what the leader still counts to it, null where it did not say. Answers with the tasks that are lost. */
  renewed(
    leaseId: string,
    answer: { readonly sentAt: number; readonly ttlMs: number | null; readonly jobIds: readonly string[] | null },
  ): readonly HeldTask[] {
    const lease = this.leases.get(leaseId);
    if (lease === undefined) return [];
    lease.ttlMs = answer.ttlMs ?? lease.ttlMs;
    lease.isUnderWay = false;
    lease.progressAt = answer.sentAt;
    Object.assign(lease, timesOf(lease.ttlMs, answer.sentAt));
    if (answer.jobIds === null) return [];
    const held = new Set(answer.jobIds);
    const lost = [...lease.jobIds].filter((jobId) => !held.has(jobId)).map((jobId) => ({ leaseId, jobId }));
    for (const task of lost) this.settled(task);
    return lost;
  }

  /** It could not be renewed now. What was to be told is told with the next renewal, unless there is newer. */
  kept({ leaseId, progress }: DueRenewal): void {
    const lease = this.leases.get(leaseId);
    if (lease === undefined) return;
    lease.isUnderWay = false;
    for (const note of progress) {
      if (lease.jobIds.has(note.jobId) && !lease.progress.has(note.jobId))
        lease.progress.set(note.jobId, note.progress);
    }
  }

  /** The leader knows it no more. Answers with its tasks, which are lost. */
  lost(leaseId: string): readonly HeldTask[] {
    const jobIds = [...(this.leases.get(leaseId)?.jobIds ?? [])];
    this.leases.delete(leaseId);
    return jobIds.map((jobId) => ({ leaseId, jobId }));
  }

  /** The tasks of leases that were not renewed in time: others may have them by now. */
  ranOut(now: number): readonly HeldTask[] {
    const over = [...this.leases].filter(([, { runsOutAt }]) => runsOutAt <= now);
    return over.flatMap(([leaseId]) => this.lost(leaseId));
  }

  private renewalAt({ renewAt, progress, progressAt }: HeldLease): number {
    return progress.size === 0 ? renewAt : Math.min(renewAt, progressAt + this.progressEveryMs);
  }
}

function timesOf(ttlMs: number | null, from: number): Pick<HeldLease, "renewAt" | "runsOutAt"> {
  if (ttlMs === null) return { renewAt: from + unknownRenewMs, runsOutAt: Number.POSITIVE_INFINITY };
  return { renewAt: from + Math.min(longestRenewMs, ttlMs / renewalsInTtl), runsOutAt: from + ttlMs };
}
