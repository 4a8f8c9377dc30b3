import { isDeepStrictEqual } from "node:util";
import { judgeFiring } from "../../jobs/core/cron-round.js";
import type { FenceToken, Page } from "../contract.js";
import type { CronBook, CronDefinition, CronFiring, CronLook, CronTick, FireOutcome } from "../cron-contract.js";
import type { Submission } from "../job-orders.js";
import { pageOf } from "./books.js";
import type { MemoryCronTables } from "./cron-tables.js";
import { obey } from "./job-orders.js";
import type { MemoryJobTables } from "./job-tables.js";

type Fenced = (fence: FenceToken, fn: (tx: { onCommit(effect: () => void): void }) => Promise<void>) => Promise<void>;

/** Crons in memory. Each write is done whole, at the commit of a fenced transaction, or not at all. */
export class MemoryCronBook implements CronBook {
  private readonly tables: MemoryCronTables;
  private readonly jobs: MemoryJobTables;
  private readonly fenced: Fenced;

  constructor(tables: MemoryCronTables, jobs: MemoryJobTables, fenced: Fenced) {
    this.tables = tables;
    this.jobs = jobs;
    this.fenced = fenced;
  }

  private async write<Result>(fence: FenceToken, apply: () => Result): Promise<Result> {
    const written: Result[] = [];
    await this.fenced(fence, async (tx) => await Promise.resolve(tx.onCommit(() => written.push(apply()))));
    return written[0] as Result;
  }

  private now(): number {
    return Math.floor(this.jobs.now());
  }

  async define(fence: FenceToken, crons: readonly CronDefinition[], areAllSettings: boolean): Promise<void> {
    await this.write(fence, () => {
      for (const cron of crons) this.defineOne(cron);
      const named = new Set(crons.map(({ name }) => name));
      for (const cron of areAllSettings ? this.tables.crons.values() : []) {
        if (cron.source !== "settings" || cron.goneAt !== null || named.has(cron.name)) continue;
        this.tables.crons.set(cron.name, { ...cron, generation: cron.generation + 1, goneAt: this.now() });
      }
    });
  }

  private defineOne(definition: CronDefinition): void {
    const { crons } = this.tables;
    const given = structuredClone(definition);
    const now = this.now();
    const old = crons.get(given.name);
    if (old === undefined) {
      crons.set(given.name, { ...given, generation: 1, paused: false, goneAt: null, lastTick: now });
      return;
    }
    const { generation, paused, goneAt, lastTick, ...before } = old;
    if (goneAt === null && isDeepStrictEqual(before, given)) return;
    const goesOn = goneAt === null && old.schedule === given.schedule && old.timeZone === given.timeZone;
    crons.set(given.name, {
      ...given,
      generation: generation + 1,
      paused,
      goneAt: null,
      lastTick: goesOn ? lastTick : Math.max(lastTick, now),
    });
  }

  async look(): Promise<CronLook> {
    const crons = [...this.tables.crons.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
    return await Promise.resolve({ now: this.now(), crons: structuredClone(crons) });
  }

  async fire(fence: FenceToken, firings: readonly CronFiring[]): Promise<FireOutcome> {
    return await this.write(fence, () => {
      for (const { order } of firings) {
        const cron = this.tables.crons.get(order.cron);
        if (cron === undefined || cron.paused || cron.goneAt !== null) return { kind: "changed" };
        const verdict = judgeFiring(cron, order, this.jobs.now());
        if (verdict !== "fires") return { kind: verdict };
      }
      for (const firing of firings) this.fireOne(firing, fence.epoch);
      return { kind: "fired" };
    });
  }

  private fireOne({ order, jobs }: CronFiring, epoch: bigint): void {
    const cron = this.tables.crons.get(order.cron);
    const newest = order.marks.at(-1);
    if (cron === undefined || newest === undefined) return;
    const idOf = new Map(jobs.map(({ tick, jobId }) => [tick, jobId]));
    for (const mark of order.marks) this.note(order.cron, { ...mark, jobId: idOf.get(mark.tick) ?? null });
    for (const job of jobs) obey(this.jobs, job, epoch);
    this.tables.crons.set(order.cron, { ...cron, lastTick: newest.tick });
  }

  private note(cron: string, tick: Omit<CronTick, "id" | "decidedAt">): void {
    this.tables.decided += 1;
    this.tables.ticks.push({ ...tick, cron, id: `${this.tables.decided}`, decidedAt: this.now() });
  }

  async trigger(fence: FenceToken, name: string, job: Submission): Promise<boolean> {
    return await this.write(fence, () => {
      const cron = this.tables.crons.get(name);
      if (cron === undefined || cron.goneAt !== null) return false;
      const isNoted = this.tables.ticks.some(({ kind, jobId }) => kind === "triggered" && jobId === job.jobId);
      if (!isNoted) this.note(name, { tick: this.now(), kind: "triggered", missed: 0, jobId: job.jobId });
      obey(this.jobs, job, fence.epoch);
      return true;
    });
  }

  async setPaused(fence: FenceToken, name: string, paused: boolean): Promise<boolean> {
    return await this.write(fence, () => {
      const cron = this.tables.crons.get(name);
      if (cron === undefined || cron.goneAt !== null) return false;
      if (cron.paused !== paused) {
        const lastTick = paused ? cron.lastTick : Math.max(cron.lastTick, this.now());
        this.tables.crons.set(name, { ...cron, paused, lastTick, generation: cron.generation + 1 });
      }
      return true;
    });
  }

  async history(cron: string, page: Page): Promise<readonly CronTick[]> {
    const ticks = this.tables.ticks.filter((tick) => tick.cron === cron);
    return await Promise.resolve(pageOf(ticks, page).map(({ cron: _cron, ...tick }) => tick));
  }

  async forget(fence: FenceToken, olderThanMs: number, limit: number): Promise<number> {
    return await this.write(fence, () => {
      const { ticks } = this.tables;
      const old = ticks.slice(0, limit).filter(({ decidedAt }) => decidedAt <= this.jobs.now() - olderThanMs);
      ticks.splice(0, ticks.length, ...ticks.filter((tick) => !old.includes(tick)));
      return old.length;
    });
  }
}
