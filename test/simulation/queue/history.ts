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
  /** Set once: the first thing that went wrong. */
  private readonly violate: (rule: "G4" | "key" | "handoff" | "answer", message: string) => void;

  constructor(violate: History["violate"]) {
    this.violate = violate;
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
  add(lane: LaneHistory, plan: MessagePlan, segment: number): Entry {
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
    this.check(entry);
    lane.entries.push(entry);
    this.byName.set(plan.name, entry);
    return entry;
  }

  private check({ plan, lane, segment }: Entry): void {
    const before = this.byName.get(plan.name);
    if (plan.stage !== lane.stage || plan.lane !== lane.name) {
      this.violate("G4", `${plan.name} was taken in by lane ${lane.stage}/${lane.name}`);
    }
    if ((lane.entries.at(-1)?.segment ?? 0) > segment) {
      this.violate("G4", `${plan.name} is in an older segment than the message before it, where nobody looks for it`);
    }
    if (before !== undefined && !before.redriven) {
      const rule = plan.producedBy !== null ? "handoff" : plan.key !== null ? "key" : "answer";
      this.violate(rule, `${plan.name} was taken in twice`);
    }
    if (before === undefined && plan.producedBy === null && plan.state !== "calling") {
      this.violate("answer", `${plan.name} was taken in after its caller had been told ${plan.state}`);
    }
  }
}
