import { randomUUID } from "node:crypto";

export interface LedgerJob {
  readonly job_id: string;
  readonly op: string;
  readonly payload: unknown;
  readonly timeout_ms: number;
  state: "queued" | "leased" | "succeeded" | "failed" | "cancelled";
  job_epoch: number;
  attempts: number;
  lease_id: string | null;
  leased_until: number;
  progress: unknown;
  result: unknown;
  error: string | null;
  /** Of each result that was accepted for the first time. */
  readonly accepted: number[];
  reported: string | null;
  given_back: number;
}

type Result = Readonly<Record<"lease_id" | "job_id" | "status" | "error", string>> & {
  readonly job_epoch: number;
  readonly result?: unknown;
  readonly retry?: boolean;
};

/** The jobs of a made-up cluster, in memory, by the rules of the real one. Several stand-in nodes may share them. */
export class JobLedger {
  readonly jobs = new Map<string, LedgerJob>();
  readonly waiting = new Set<() => void>();
  ttlMs = 60_000;
  staleResults = 0;
  repeatedResults = 0;
  leaderEpoch = 1;

  submit(op: string, payload: unknown = null, { timeout_ms = 60_000 } = {}): LedgerJob {
    const job: LedgerJob = {
      job_id: randomUUID(),
      op,
      payload,
      timeout_ms,
      state: "queued",
      job_epoch: 0,
      attempts: 0,
      lease_id: null,
      leased_until: 0,
      progress: null,
      result: null,
      error: null,
      accepted: [],
      reported: null,
      given_back: 0,
    };
    this.jobs.set(job.job_id, job);
    this.wake();
    return job;
  }

  /** Takes the job away from whoever has it, as a lease that has run out does. */
  takeAway(job: LedgerJob): void {
    Object.assign(job, { state: "queued", lease_id: null });
  }

  cancel(job: LedgerJob): void {
    Object.assign(job, { state: "cancelled", lease_id: null });
  }

  lease(maxTasks: number): { readonly lease_id: string } | null {
    const isReady = ({ state, leased_until: until }: LedgerJob): boolean =>
      state === "queued" || (state === "leased" && until <= Date.now());
    const taken = [...this.jobs.values()].filter(isReady).slice(0, maxTasks);
    if (taken.length === 0) return null;
    const lease_id = randomUUID();
    for (const job of taken) {
      Object.assign(job, { state: "leased", lease_id, leased_until: Date.now() + this.ttlMs });
      job.job_epoch += 1;
      job.attempts += 1;
    }
    const tasks = taken.map(({ job_id, job_epoch, op, payload, attempts, timeout_ms }) => ({
      job_id,
      job_epoch,
      op,
      payload,
      attempt: attempts,
      timeout_ms,
    }));
    const lease = { lease_id, leader_epoch: this.leaderEpoch, expires_at: (Date.now() + this.ttlMs) / 1_000 };
    return Object.assign(lease, { ttl_ms: this.ttlMs, tasks });
  }

  /** Null where there is no such lease. */
  renew(leaseId: string, progress: readonly { job_id: string; progress: unknown }[]): object | null {
    const held = this.heldBy(leaseId);
    if (held.length === 0) return null;
    for (const job of held) {
      job.leased_until = Date.now() + this.ttlMs;
      const note = progress.find(({ job_id }) => job_id === job.job_id);
      if (note !== undefined) job.progress = note.progress;
    }
    return { lease_id: leaseId, ttl_ms: this.ttlMs, job_ids: held.map(({ job_id }) => job_id) };
  }

  giveBack(leaseId: string): object {
    const held = this.heldBy(leaseId);
    for (const job of held) {
      this.takeAway(job);
      job.attempts -= 1;
      job.given_back += 1;
    }
    this.wake();
    return { job_ids: held.map(({ job_id }) => job_id) };
  }

  report({ lease_id, job_id, job_epoch, status, result, error, retry }: Result): object {
    const job = this.jobs.get(job_id);
    if (job === undefined) return { error: "NOT_FOUND", message: "There is no such job." };
    const stamp = `${job_epoch} ${status}`;
    if (job.state === "leased" && job.job_epoch === job_epoch && job.lease_id === lease_id) {
      job.accepted.push(job_epoch);
      job.reported = stamp;
      const isOver = status === "succeeded" || retry === false;
      Object.assign(job, {
        state: isOver ? status : "queued",
        lease_id: null,
        result: result ?? null,
        error: error ?? null,
      });
      this.wake();
      return { job_id, job_epoch, state: job.state, repeated: false };
    }
    if (job.reported === stamp) {
      this.repeatedResults += 1;
      return { job_id, job_epoch, state: job.state, repeated: true };
    }
    this.staleResults += 1;
    return {
      error: "STALE_EPOCH",
      alias: "STALE_LEASE",
      field: "job_epoch",
      expected: job.job_epoch + 1,
      got: job_epoch,
    };
  }

  isDone(): boolean {
    return [...this.jobs.values()].every(({ state }) => state !== "queued" && state !== "leased");
  }

  private heldBy(leaseId: string): readonly LedgerJob[] {
    return [...this.jobs.values()].filter(({ state, lease_id }) => state === "leased" && lease_id === leaseId);
  }

  private wake(): void {
    for (const wake of this.waiting) wake();
  }
}
