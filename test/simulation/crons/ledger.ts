import type { TickMark } from "../../../src/jobs/core/cron-plan.js";
import { type CronStanding, type FireOrder, judgeFiring } from "../../../src/jobs/core/cron-round.js";

export interface LedgerJob {
  readonly cron: string;
  readonly tick: number;
  /** When it was committed, by the database's clock. */
  readonly at: number;
}

export interface LedgerFiring {
  readonly cron: string;
  readonly at: number;
  readonly plannedAt: number;
  readonly marks: readonly TickMark[];
}

export type FireAnswer = "fires" | "changed" | "not_now" | "stale";

/** One rule of the store taken away. */
export interface LedgerFaults {
  readonly noCompareAndSet?: boolean;
  readonly anyTime?: boolean;
  readonly lastTickFromNow?: boolean;
}

/** The database of the simulated crons: what is committed, whole or not at all, and under which epoch. */
export class Ledger {
  epoch = 0;
  readonly crons: Map<string, CronStanding>;
  readonly jobs: LedgerJob[] = [];
  readonly firings: LedgerFiring[] = [];
  readonly answers = new Map<FireAnswer, number>();
  private readonly faults: LedgerFaults;

  constructor(crons: readonly CronStanding[], faults: LedgerFaults) {
    this.crons = new Map(crons.map((cron) => [cron.name, cron]));
    this.faults = faults;
  }

  /** Marks and jobs of all the orders in one transaction, as the store does it. */
  fire(epoch: number, orders: readonly FireOrder[], now: number): FireAnswer[] {
    return orders.map((order) => {
      const answer = this.mark(epoch, order, now);
      if (answer === "fires") this.enqueue(epoch, order, now);
      return answer;
    });
  }

  mark(epoch: number, order: FireOrder, now: number): FireAnswer {
    const answer = epoch === this.epoch ? this.judge(order, now) : "stale";
    this.answers.set(answer, (this.answers.get(answer) ?? 0) + 1);
    const standing = this.crons.get(order.cron);
    const newest = order.marks.at(-1);
    if (answer !== "fires" || standing === undefined || newest === undefined) return answer;
    const lastTick = this.faults.lastTickFromNow === true ? now : newest.tick;
    this.crons.set(order.cron, { ...standing, lastTick });
    this.firings.push({ cron: order.cron, at: now, plannedAt: order.plannedAt, marks: order.marks });
    return answer;
  }

  enqueue(epoch: number, order: FireOrder, now: number): void {
    if (epoch !== this.epoch) return;
    for (const { tick, kind } of order.marks)
      if (kind !== "skipped") this.jobs.push({ cron: order.cron, tick, at: now });
  }

  private judge(order: FireOrder, now: number): FireAnswer {
    const standing = this.crons.get(order.cron);
    if (standing === undefined) return "changed";
    const isBlind = this.faults.noCompareAndSet === true;
    const verdict = judgeFiring(isBlind ? order : standing, order, now);
    return verdict === "not_now" && this.faults.anyTime === true ? "fires" : verdict;
  }
}
