import { type MissedPolicy, planFiring, type TickMark } from "./cron-plan.js";
import { nextTick, type Schedule } from "./cron-schedule.js";

/** A cron as the leader found it in the database. */
export interface CronStanding {
  readonly name: string;
  /** Raised by every change of what the cron is. */
  readonly generation: number;
  /** Everything up to here has been decided on. */
  readonly lastTick: number;
  readonly schedule: Schedule;
  readonly policy: MissedPolicy;
}

/**
 * What the leader asks the database to do for a cron, in one transaction: to note these ticks and enqueue their jobs, if
 * the cron still stands as it did (the same generation, the same last tick) and the plan is still fresh.
 */
export interface FireOrder {
  readonly cron: string;
  readonly generation: number;
  readonly lastTick: number;
  /** The database's clock when it was asked what is due. */
  readonly plannedAt: number;
  /** In rising order. The last one's tick is the last tick from then on. */
  readonly marks: readonly TickMark[];
}

export interface CronRound {
  readonly orders: readonly FireOrder[];
  /** The next tick of any of them when this has been done; null where none will come. */
  readonly next: number | null;
}

/**
 * A plan that the database gets later than this is refused, and made again: what was in time when it was made need not be so
 * any more. Its maker was frozen, or its request was long on the way.
 */
export const planHoldsMs = 5_000;

/** What is to be done about all crons, by the database's clock. */
export function planRound(crons: readonly CronStanding[], nowMs: number): CronRound {
  const orders: FireOrder[] = [];
  let next: number | null = null;
  for (const cron of crons) {
    const plan = planFiring(cron, nowMs);
    if (plan.kind === "due") {
      const { name, generation, lastTick } = cron;
      orders.push({ cron: name, generation, lastTick, plannedAt: nowMs, marks: plan.marks });
    }
    const following = plan.kind === "wait" ? plan.next : nextTick(cron.schedule, nowMs);
    if (following !== null && (next === null || following < next)) next = following;
  }
  return { orders, next };
}

/** What the database does with an order, by its own clock. */
export type FireVerdict = "fires" | "changed" | "not_now";

export function judgeFiring(
  standing: { readonly generation: number; readonly lastTick: number },
  order: FireOrder,
  nowMs: number,
): FireVerdict {
  if (standing.generation !== order.generation || standing.lastTick !== order.lastTick) return "changed";
  const newest = order.marks.at(-1)?.tick ?? Number.POSITIVE_INFINITY;
  return newest <= nowMs && nowMs - order.plannedAt <= planHoldsMs ? "fires" : "not_now";
}
