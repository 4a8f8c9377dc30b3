import { HoldfastError } from "../../../src/errors.js";
import type { Accepted } from "../../../src/queue/intake.js";
import type { Queue } from "../../../src/queue/queue.js";
import type { Random } from "../random.js";
import type { Coverage } from "./coverage.js";
import type { History } from "./history.js";
import type { MessagePlan, Plans } from "./plans.js";
import type { SimProcess } from "./process.js";
import type { QueueRule } from "./violation.js";
import type { VirtualTime } from "./virtual-time.js";

/** So long a caller waits for an answer. */
const patienceMs = 1_500;

export interface Callees {
  /** Whom a caller turns to: mostly the leader. */
  choose(): { readonly process: SimProcess; readonly queue: Queue } | null;
}

/**
 * Those who want messages taken in. What has a key is sent again until it is known to be there. What has none is sent again
 * only by who was told no, because he has been told that it is not there.
 */
export class Callers {
  private readonly time: VirtualTime;
  private readonly random: Random;
  private readonly plans: Plans;
  private readonly history: History;
  private readonly coverage: Coverage;
  private readonly callees: Callees;
  private readonly violate: (rule: QueueRule, message: string) => void;
  private readonly lanes: readonly string[];
  private isOpen = true;
  /** Calls that somebody still waits for, or will make. */
  underWay = 0;

  constructor(around: {
    readonly time: VirtualTime;
    readonly random: Random;
    readonly plans: Plans;
    readonly history: History;
    readonly coverage: Coverage;
    readonly callees: Callees;
    readonly violate: (rule: QueueRule, message: string) => void;
    readonly lanes: readonly string[];
  }) {
    this.time = around.time;
    this.random = around.random;
    this.plans = around.plans;
    this.history = around.history;
    this.coverage = around.coverage;
    this.callees = around.callees;
    this.violate = around.violate;
    this.lanes = around.lanes;
  }

  start(everyMs: number): void {
    this.time.after(this.random.between(0, 2 * everyMs), () => {
      if (!this.isOpen) return;
      const count = this.random.chance(0.7) ? 1 : this.random.whole(2, 4);
      const lane = this.random.pick(this.lanes);
      this.call(Array.from({ length: count }, () => this.plans.next(lane)));
      this.start(everyMs);
    });
  }

  /** Nothing new is sent from now on. */
  close(): void {
    this.isOpen = false;
  }

  private call(plans: readonly MessagePlan[]): void {
    this.underWay += 1;
    const callee = this.callees.choose();
    if (callee === null) {
      this.again(plans);
      return;
    }
    for (const plan of plans) plan.state = "calling";
    let isOpen = true;
    const end = (act: () => void): void => {
      if (!isOpen) return;
      isOpen = false;
      this.underWay -= 1;
      act();
    };
    callee.process.reach(() => {
      callee.queue
        .enqueueMany(plans.map(({ stage, lane, name, key }) => ({ stage, lane, body: name, ...(key && { key }) })))
        .then(
          (accepted) => end(() => this.accepted(plans, accepted)),
          (error: unknown) => end(() => this.refused(plans, error)),
        );
    });
    this.time.after(patienceMs, () => end(() => this.unsure(plans)));
  }

  private again(plans: readonly MessagePlan[]): void {
    this.time.after(this.random.between(5, 60), () => {
      this.underWay -= 1;
      this.call(plans);
    });
  }

  private accepted(plans: readonly MessagePlan[], accepted: readonly Accepted[]): void {
    plans.forEach((plan, index) => {
      const { lane, position, duplicate } = accepted[index] as Accepted;
      plan.state = "acknowledged";
      this.coverage.count("intake", duplicate ? "duplicate key" : "acknowledged");
      const entry = this.history.lanes.get(lane)?.entries[position - 1];
      if (entry?.plan !== plan) {
        const there = entry === undefined ? "nothing is" : `${entry.plan.name} is`;
        this.violate("G4", `${plan.name} was acknowledged at ${position}, where ${there}`);
      }
    });
    const fresh = accepted.filter(({ duplicate }) => !duplicate);
    for (const [index, { lane, position }] of fresh.entries()) {
      const before = fresh.slice(0, index).filter((one) => one.lane === lane);
      if (before.some((one) => one.position >= position)) {
        this.violate("G5", `${plans.map(({ name }) => name).join(", ")} of one call were taken in in another order`);
      }
    }
  }

  /** Told no; but of several messages one may have been refused and the others not. */
  private refused(plans: readonly MessagePlan[], error: unknown): void {
    const code = error instanceof HoldfastError ? error.code : "INTERNAL";
    if (code === "BROKEN_INVARIANT" || code === "INTERNAL") {
      this.violate("broken", `a caller got ${error instanceof Error ? error.stack : String(error)}`);
    }
    if (code === "NOT_LEADER") this.coverage.count("refusal", "not leader");
    if (code === "DATABASE_AWAY") this.coverage.count("refusal", "database away");
    const isUnknown = code === "UNKNOWN_OUTCOME";
    if (isUnknown) this.coverage.count("refusal", "unknown outcome");
    if (isUnknown && plans.length === 1) {
      const isThere = this.history.byName.has(plans[0]?.name ?? "");
      this.coverage.count("intake", isThere ? "unknown append that was there" : "unknown append that was not there");
    }
    if (isUnknown || plans.length > 1) this.unsure(plans);
    else {
      for (const plan of plans) this.toldNo(plan, code);
      this.retry(plans);
    }
  }

  private toldNo(plan: MessagePlan, code: string): void {
    if (plan.key !== null) return; // An earlier call may have got it in.
    plan.state = "refused";
    if (this.history.byName.has(plan.name)) this.violate("answer", `${plan.name} is there, and its caller got ${code}`);
  }

  private unsure(plans: readonly MessagePlan[]): void {
    const keyed = plans.filter(({ key }) => key !== null);
    if (keyed.length > 0) this.retry(keyed);
  }

  private retry(plans: readonly MessagePlan[]): void {
    this.underWay += 1;
    this.again(plans);
  }
}
