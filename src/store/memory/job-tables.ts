import type { Agent } from "../../jobs/core/agent.js";
import type { Job, JobState, Json } from "../../jobs/core/job.js";
import { afterLoss } from "../../jobs/core/job-rules.js";
import type { StoredEvent } from "../job-contract.js";

/** A job, and what only the store knows of it. Its lease and its agent are those of its last lease, also where that has ended. */
export type MemoryJob = { -readonly [Field in keyof Job]: Job[Field] } & {
  runUntil: number | null;
  reportedEpoch: number;
  crashes: number;
  reportedSuccess: boolean | null;
};

export interface MemoryLease {
  readonly leaseId: string;
  readonly agent: string;
  leasedUntil: number;
  /** When somebody has to look: never late, but early where a job that was due first is finished. */
  dueAt: number;
}

export type MemoryAgent = { -readonly [Field in keyof Omit<Agent, "silentMs">]: Agent[Field] };

const lostReason = { lease: "the lease ran out", timeout: "took longer than its timeout" } as const;

/** The jobs of one database in memory. Every method is done at once. */
export class MemoryJobTables {
  /** In the order of their submission. */
  readonly jobs = new Map<string, MemoryJob>();
  readonly leases = new Map<string, MemoryLease>();
  readonly agents = new Map<string, MemoryAgent>();
  readonly events: StoredEvent[] = [];
  submitted = 0;
  lastEvent = 0;
  readonly now: () => number;
  readonly identity: () => string;

  constructor(now: () => number, identity: () => string) {
    this.now = now;
    this.identity = identity;
  }

  tell(kind: string, data: Json, epoch: bigint): void {
    this.lastEvent += 1;
    this.events.push({ id: this.lastEvent, at: this.now(), kind, data, leaderEpoch: epoch });
  }

  tellOf(job: MemoryJob, agent: string | null, epoch: bigint): void {
    const { jobId, op, namespace, state, jobEpoch } = job;
    const told = { job_id: jobId, op, namespace, state, job_epoch: jobEpoch };
    this.tell(`job.${state}`, agent === null ? told : { ...told, agent }, epoch);
  }

  /** Gives the job another state, as whoever leads under this epoch. */
  move(job: MemoryJob, state: JobState, epoch: bigint, changes: Partial<MemoryJob> = {}): void {
    const holder = job.state === "leased" ? job.agent : null;
    const moved = { state, runUntil: null, waitsUntil: null, leaderEpoch: epoch, updatedAt: this.now() };
    Object.assign(job, moved, changes);
    this.tellOf(job, holder, epoch);
    this.dropEmptyLeases();
  }

  /** Those of the cluster's workers, who choose the ids themselves. */
  workerLeases(): readonly Pick<MemoryLease, "agent" | "leaseId">[] {
    const leases = [...this.leases.values()].filter(({ leaseId }) => leaseId.startsWith("worker:"));
    return leases.map(({ agent, leaseId }) => ({ agent, leaseId }));
  }

  heldUnder(leaseId: string): MemoryJob[] {
    return [...this.jobs.values()].filter((job) => job.state === "leased" && job.leaseId === leaseId);
  }

  /** The lease goes with the last of its jobs. */
  private dropEmptyLeases(): void {
    for (const leaseId of this.leases.keys()) if (this.heldUnder(leaseId).length === 0) this.leases.delete(leaseId);
  }

  /** From now on it lasts until then, or until the first of its attempts has taken too long. */
  extend(lease: MemoryLease, leasedUntil: number): void {
    lease.leasedUntil = leasedUntil;
    lease.dueAt = Math.min(leasedUntil, ...this.heldUnder(lease.leaseId).map(({ runUntil }) => runUntil ?? Infinity));
  }

  nextDueMs(): number | null {
    const waiting = [...this.jobs.values()].flatMap(({ waitsUntil }) => waitsUntil ?? []);
    const due = Math.min(...waiting, ...[...this.leases.values()].map(({ dueAt }) => dueAt));
    return due === Infinity ? null : Math.max(0, due - this.now());
  }

  /** Jobs that waited long enough. */
  ripen(limit: number, epoch: bigint): number {
    const now = this.now();
    const due = [...this.jobs.values()]
      .filter(({ waitsUntil }) => waitsUntil !== null && waitsUntil <= now)
      .sort((one, other) => (one.waitsUntil ?? 0) - (other.waitsUntil ?? 0))
      .slice(0, limit);
    for (const job of due) Object.assign(job, { waitsUntil: null, updatedAt: now, leaderEpoch: epoch });
    return due.length;
  }

  /** Jobs that were kept too long go back, or are dead. */
  loseLate(limit: number, epoch: bigint): { jobId: string; agent: string; state: JobState }[] {
    const now = this.now();
    const due = [...this.leases.values()]
      .filter(({ dueAt }) => dueAt <= now)
      .sort((one, other) => one.dueAt - other.dueAt)
      .slice(0, limit);
    return due.flatMap((lease) => {
      const ranOut = lease.leasedUntil <= now;
      const late = this.heldUnder(lease.leaseId).filter(({ runUntil }) => ranOut || (runUntil ?? Infinity) <= now);
      for (const job of late) {
        this.move(job, afterLoss(job), epoch, { error: ranOut ? lostReason.lease : lostReason.timeout });
      }
      this.extend(lease, lease.leasedUntil);
      return late.map(({ jobId, state }) => ({ jobId, agent: lease.agent, state }));
    });
  }
}
