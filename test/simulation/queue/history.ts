import type { MessagePlan } from "./plans.js";

/** What is known of one message that was taken in. */
export interface Entry {
  readonly lane: LaneHistory;
  readonly position: number;
  readonly plan: MessagePlan;
  readonly segment: number;
  deliveries: number;
  /** Failures that were committed. */
  failures: number;
  /** The claims, by the request that made them, under which its handler worked. */
  readonly workedUnder: Set<number>;
  state: "waiting" | "finished" | "dead";
  redriven: boolean;
}

/** A lane as it should be, told from what was committed. */
export interface LaneHistory {
  readonly id: number;
  readonly stage: string;
  readonly name: string;
  /** By position, from 1. */
  readonly entries: Entry[];
  done: number;
  /** All up to here were delivered, or died before they could be. */
  delivered: number;
  /** The request that made the claim which the database has; null where nothing is in flight. */
  claim: number | null;
}

/** Everything that was ever taken in. */
export class History {
  readonly lanes = new Map<number, LaneHistory>();
  readonly byName = new Map<string, Entry>();
  private readonly times = new Map<string, number>();
  /** Set once: the first thing that went wrong. */
  private readonly violate: (rule: "G4" | "key" | "handoff" | "answer", message: string) => void;

  private readonly isKept: (segment: number) => boolean;

  constructor(violate: History["violate"], isKept: (segment: number) => boolean) {
    this.violate = violate;
    this.isKept = isKept;
  }

  lane(id: number, stage: string, name: string): LaneHistory {
    const known = this.lanes.get(id);
    if (known !== undefined) return known;
    const made = { id, stage, name, entries: [], done: 0, delivered: 0, claim: null };
    this.lanes.set(id, made);
    return made;
  }

  find(stage: string, name: string): LaneHistory | undefined {
    for (const lane of this.lanes.values()) if (lane.stage === stage && lane.name === name) return lane;
    return undefined;
  }

  at(lane: LaneHistory, position: number): Entry | undefined {
    return lane.entries[position - 1];
  }

  /** A message was taken in at the end of its lane. */
  add(lane: LaneHistory, plan: MessagePlan, segment: number, isRedrive: boolean): Entry {
    const entry: Entry = {
      lane,
      position: lane.entries.length + 1,
      plan,
      segment,
      deliveries: 0,
      failures: 0,
      workedUnder: new Set(),
      state: "waiting",
      redriven: false,
    };
    this.check(entry, isRedrive);
    lane.entries.push(entry);
    this.byName.set(plan.name, entry);
    this.times.set(plan.name, this.timesOf(plan) + 1);
    return entry;
  }

  private timesOf({ name }: MessagePlan): number {
    return this.times.get(name) ?? 0;
  }

  /** A key is known for as long as its message is kept. What is taken in again after that, is handed on again. */
  private isForgotten({ plan, segment }: Entry): boolean {
    if (plan.producedBy !== null) return this.timesOf(plan.producedBy) > this.timesOf(plan);
    return plan.key !== null && !this.isKept(segment);
  }

  private check({ plan, lane, segment }: Entry, isRedrive: boolean): void {
    const before = this.byName.get(plan.name);
    const isDue = isRedrive && before?.state === "dead" && !before.redriven;
    if (isDue) before.redriven = true;
    if (isRedrive && !isDue) this.violate("G4", `${plan.name} was redriven, and is not dead or was redriven before`);
    if (plan.stage !== lane.stage || plan.lane !== lane.name) {
      this.violate("G4", `${plan.name} was taken in by lane ${lane.stage}/${lane.name}`);
    }
    if ((lane.entries.at(-1)?.segment ?? 0) > segment) {
      this.violate("G4", `${plan.name} is in an older segment than the message before it, where nobody looks for it`);
    }
    if (before !== undefined && !isDue && !this.isForgotten(before)) {
      const rule = plan.producedBy !== null ? "handoff" : plan.key !== null ? "key" : "answer";
      this.violate(rule, `${plan.name} was taken in twice`);
    }
    if (before === undefined && plan.producedBy === null && plan.state !== "calling") {
      this.violate("answer", `${plan.name} was taken in after its caller had been told ${plan.state}`);
    }
  }
}
