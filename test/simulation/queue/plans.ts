import type { Random } from "../random.js";

/** What the handler will do with a message. */
export type PlanKind = "works" | "throws" | "hangs" | "takesTooLong" | "neverWorks" | "poison";

/** One message, from whoever wants it taken in to the end. Its body is its name, by which it is found everywhere. */
export interface MessagePlan {
  readonly name: string;
  readonly stage: string;
  readonly lane: string;
  readonly key: string | null;
  readonly kind: PlanKind;
  /** How often it fails before it works. */
  readonly fails: number;
  /** What its handler hands on, if it works. */
  readonly produces: readonly MessagePlan[];
  readonly producedBy: MessagePlan | null;
  /** "calling" while somebody waits for it to be taken in, or does not know. */
  state: "calling" | "refused" | "acknowledged";
}

/** Every message of a run. */
export class Plans {
  readonly byName = new Map<string, MessagePlan>();
  private readonly random: Random;
  private readonly kinds: ReadonlyMap<PlanKind, number>;
  private readonly lanes: readonly string[];
  private readonly stages: readonly string[];
  private poisonLeft: number;

  constructor(
    random: Random,
    options: {
      readonly kinds: ReadonlyMap<PlanKind, number>;
      readonly lanes: readonly string[];
      readonly stages: readonly string[];
      readonly mostPoison: number;
    },
  ) {
    this.random = random;
    this.kinds = options.kinds;
    this.lanes = options.lanes;
    this.stages = options.stages;
    this.poisonLeft = options.mostPoison;
  }

  /** A message for the first stage, and now and then one for a later. */
  next(lane: string): MessagePlan {
    const [first = "", second = first] = this.stages;
    const stage = this.random.chance(0.25) ? second : first;
    const name = `m${this.byName.size + 1}`;
    return this.add({ name, stage, lane, key: this.random.chance(0.5) ? `key of ${name}` : null, producedBy: null });
  }

  get(name: string): MessagePlan | undefined {
    return this.byName.get(name);
  }

  private add(given: Pick<MessagePlan, "name" | "stage" | "lane" | "key" | "producedBy">): MessagePlan {
    const produces: MessagePlan[] = [];
    const wanted = this.random.weighted(this.kinds);
    const kind = wanted === "poison" && this.poisonLeft-- <= 0 ? "works" : wanted;
    const plan = { ...given, kind, fails: this.random.whole(1, 2), produces, state: "calling" as const };
    this.byName.set(plan.name, plan);
    const [first, second] = this.stages;
    if (given.stage !== first || second === undefined) return plan;
    for (let left = this.random.whole(0, 2); left > 0; left--) {
      const lane = this.random.pick(this.lanes);
      produces.push(this.add({ name: `${plan.name}.${left}`, stage: second, lane, key: null, producedBy: plan }));
    }
    return plan;
  }
}
