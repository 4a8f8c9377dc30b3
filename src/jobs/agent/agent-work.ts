import { endsWithin } from "../../lifecycle/ends-within.js";
import { pause } from "../../lifecycle/pause.js";
import { version } from "../../version.js";
import type { HeldTask } from "../core/agent/lease-book.js";
import type { LeasedWork, Task } from "../core/agent/work.js";
import { type AgentCounts, AgentParts } from "./agent-parts.js";
import type { WorkSettings } from "./agent-settings.js";
import { keepLeases } from "./renewals.js";
import { sendResults } from "./reporting.js";
import { TaskRun } from "./task-run.js";
import type { WorkLink } from "./work-link.js";

/** What a leader hands out at once. */
const mostTasks = 64;
const longestProbeMs = 3_000;
/** How long tasks get to heed their signal when the time to stop is over. */
const heedMs = 1_000;
/** How long the last results, and what is given back, may take to reach a leader. */
const partingMs = 5_000;

/**
 * Takes jobs from whoever leads, runs their operations and reports what came of it, over whichever link it is given. It keeps
 * its leases while tasks run, and each result until a leader has answered to it.
 *
 * It guarantees that a result is reported under the epoch it was leased with, and that a task which was taken away is aborted and
 * never reported. It does not guarantee that a job runs once: who loses its connection for longer than its lease has been
 * replaced meanwhile.
 */
export class AgentWork implements AsyncDisposable {
  private readonly settings: WorkSettings;
  private readonly parts: AgentParts;
  private readonly running = new Set<TaskRun>();
  private readonly draining = new AbortController();
  private readonly idlers: (() => void)[] = [];
  /** When it last asked for work. */
  private askedAt = 0;
  private polling: Promise<void> | null = null;
  private ran: Promise<void> | null = null;
  private stopped: Promise<void> | null = null;

  constructor(settings: WorkSettings, link: WorkLink) {
    this.settings = settings;
    this.parts = new AgentParts(settings, link);
  }

  /** What it has done since it started, and what it has in hand. */
  get counts(): Readonly<AgentCounts> & { readonly running: number; readonly waitingResults: number } {
    return { ...this.parts.counts, running: this.running.size, waitingResults: this.parts.outbox.size };
  }

  /** Works until it is stopped. Throws where nothing it asks for will be granted: a token that is not known, an agent that was deleted. */
  run(): Promise<void> {
    this.ran ??= this.work();
    return this.ran;
  }

  /**
   * Takes no more work, waits for what runs (so long at most), reports it and gives the rest back: others have it at once, and it
   * costs no attempt. Never rejects.
   */
  stop(drainMs: number = this.settings.drainMs): Promise<void> {
    this.stopped ??= this.part(drainMs);
    return this.stopped;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  private async work(): Promise<void> {
    const { parts } = this;
    if (this.draining.signal.aborted) return;
    const loops = [this.takeWork(), keepLeases(parts, (tasks) => this.lose(tasks)), sendResults(parts)];
    try {
      await Promise.all(loops);
    } finally {
      this.draining.abort();
      for (const run of this.running) run.drop("stopped");
      parts.end();
      await Promise.allSettled(loops);
    }
  }

  private async takeWork(): Promise<void> {
    await this.beat(true);
    const { name, namespace } = this.settings;
    if (!this.draining.signal.aborted) this.settings.log.info({ agent: name, namespace }, "registered");
    this.polling = this.poll();
    await Promise.all([this.polling, this.keepBeating(), this.keepProbing()]);
  }

  private async keepBeating(): Promise<void> {
    const { clock, random, heartbeatMs } = this.settings;
    const { signal } = this.parts.over;
    for (;;) {
      // Those that were started together do not stay together.
      await pause(clock, heartbeatMs * (0.8 + 0.4 * random()), signal);
      if (signal.aborted) return;
      await this.beat(false);
    }
  }

  private async keepProbing(): Promise<void> {
    const { clock, probeMs } = this.settings;
    const { signal } = this.draining;
    for (;;) {
      await pause(clock, probeMs, signal);
      if (signal.aborted) return;
      const isWaiting = clock.mono() - this.askedAt >= probeMs;
      if (isWaiting) await this.parts.link.probe(Math.min(probeMs, longestProbeMs), signal);
    }
  }

  /** Returns when a leader has heard it, or nobody needs to any more. */
  private async beat(registers: boolean): Promise<void> {
    const signal = registers ? this.draining.signal : this.parts.over.signal;
    while (!signal.aborted) {
      const answer = await this.parts.link.beat({ version, tasks: this.running.size, registers }, signal);
      if (answer.kind === "hopeless") throw answer.error;
      if (answer.kind === "served") return;
    }
  }

  private async poll(): Promise<void> {
    const { parts, settings } = this;
    const { signal } = this.draining;
    while (!signal.aborted) {
      const room = settings.concurrency - this.running.size;
      if (room <= 0 || parts.outbox.isFull) {
        await parts.roomChanged.wait();
        continue;
      }
      this.askedAt = settings.clock.mono();
      const load = { running: this.running.size, places: settings.concurrency };
      const wish = { maxTasks: Math.min(room, mostTasks), waitMs: settings.pollMs, ...load };
      const answer = await parts.link.lease(wish, signal);
      if (answer.kind === "hopeless") throw answer.error;
      if (answer.kind === "served" && answer.answer !== "none") this.begin(answer.answer);
    }
  }

  private begin({ leaseId, ttlMs, tasks }: LeasedWork): void {
    const { parts, settings } = this;
    const jobIds = tasks.map(({ jobId }) => jobId);
    parts.leases.take(leaseId, jobIds, ttlMs, settings.clock.mono());
    parts.leasesChanged.notify();
    parts.counts.leased += tasks.length;
    // What comes when the agent stops is given back with the rest.
    if (!this.draining.signal.aborted) for (const task of tasks) void this.runTask(leaseId, task);
  }

  private async runTask(leaseId: string, task: Task): Promise<void> {
    const { parts, settings, running } = this;
    const { jobId, jobEpoch, op, attempt } = task;
    const told = { job_id: jobId, job_epoch: jobEpoch, op, attempt };
    const operation = settings.operations.get(op);
    const progress = (value: Parameters<typeof parts.leases.told>[1]): void => {
      parts.leases.told({ leaseId, jobId }, value);
      parts.leasesChanged.notify();
    };
    const deaf = (): void => settings.log.warn(told, "an operation does not heed its signal, and holds its place");
    const run = new TaskRun({ task, leaseId, operation, clock: settings.clock, progress, deaf });
    running.add(run);
    settings.log.debug(told, "a job begins");
    const end = await run.run();
    running.delete(run);
    const ms = Math.round(settings.clock.mono() - run.startedAt);
    if (end.kind === "ended") {
      const { outcome } = end;
      const bytes = Buffer.byteLength(JSON.stringify(outcome));
      parts.outbox.add({ leaseId, jobId, jobEpoch, outcome }, bytes);
      parts.outboxChanged.notify();
      if (outcome.status === "succeeded") settings.log.debug({ ...told, ms }, "a job succeeded");
      else settings.log.warn({ ...told, ms, retry: outcome.retry }, "a job failed");
    }
    parts.roomChanged.notify();
    if (running.size === 0) for (const wake of this.idlers.splice(0)) wake();
  }

  private lose(tasks: readonly HeldTask[]): void {
    for (const { leaseId, jobId } of tasks) {
      for (const run of this.running) {
        if (run.leaseId !== leaseId || run.task.jobId !== jobId) continue;
        run.drop("lost");
        this.parts.counts.lost += 1;
        const { jobEpoch, op } = run.task;
        const told = { job_id: jobId, job_epoch: jobEpoch, op };
        this.settings.log.warn(told, "a job was taken away: it is another's, or was cancelled");
      }
    }
  }

  private async part(drainMs: number): Promise<void> {
    const { parts, settings } = this;
    this.draining.abort();
    parts.roomChanged.notify();
    if (this.ran === null) return parts.end();
    const ran = this.ran.catch(() => undefined); // Told by whoever runs it.
    await this.polling?.catch(() => undefined);
    if (!(await this.idleWithin(drainMs))) {
      settings.log.warn({ running: this.running.size }, "not all jobs ended in time: they are given back");
      for (const run of this.running) run.drop("stopped");
      await this.idleWithin(heedMs);
    }
    await endsWithin(settings.clock, partingMs, this.emptied());
    await endsWithin(settings.clock, partingMs, this.giveBack());
    parts.end();
    await ran;
    if (parts.outbox.size > 0) {
      settings.log.error({ results: parts.outbox.size }, "no leader took the last results: their jobs run again");
    }
  }

  private async idleWithin(ms: number): Promise<boolean> {
    if (this.running.size === 0) return true;
    const idle = new Promise<void>((resolve) => this.idlers.push(resolve));
    return await endsWithin(this.settings.clock, ms, idle);
  }

  private async emptied(): Promise<void> {
    while (this.parts.outbox.size > 0 && !this.parts.isOver) await this.parts.roomChanged.wait();
  }

  private async giveBack(): Promise<void> {
    const { parts } = this;
    for (const leaseId of parts.leases.leaseIds) {
      for (let isDone = false; !isDone && !parts.isOver; ) {
        const answer = await parts.link.giveBack(leaseId, parts.over.signal);
        isDone = answer.kind !== "again";
      }
      parts.leases.lost(leaseId);
    }
  }
}
