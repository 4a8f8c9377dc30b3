import { Random } from "../simulation/random.js";
import type { FaultKind } from "./history.js";

export interface PlannedFault {
  readonly kind: FaultKind;
  readonly number: number;
  /** Of its own chance: what it does must not hang on what happens beside it. */
  readonly seed: number;
  /** So long after the first of its wave. */
  readonly afterMs: number;
}

/** Faults that happen at about the same time, and the time for getting well before the next wave. */
export interface Wave {
  readonly faults: readonly PlannedFault[];
  readonly pauseMs: number;
}

/** Of these a database bears one at a time: a server that is being restarted cannot be failed over as well. */
const ofTheServer: ReadonlySet<FaultKind> = new Set([
  "slow_database",
  "restart_fast",
  "restart_immediate",
  "database_failover",
  "connections_exhausted",
  "disk_full",
]);

/** What goes along with anything, and is drawn again and again once every fault has had its turn. */
const companions: readonly FaultKind[] = ["kill", "freeze", "freeze_in_transaction", "block_loop", "partition"];

/**
 * The faults of a run, by its seed alone: round after round of all of them, in an order of its own each, alone and up to three at a
 * time. A fault that found no occasion gets another in the next wave.
 */
export class Plan {
  private readonly kinds: readonly FaultKind[];
  private readonly random: Random;
  private deck: FaultKind[];
  private made = 0;
  private rounds = 0;

  constructor(seed: number, kinds: readonly FaultKind[]) {
    this.kinds = kinds;
    this.random = new Random(seed);
    this.deck = this.shuffled();
  }

  next(): Wave {
    if (this.deck.length === 0) {
      this.rounds += 1;
      this.deck = this.shuffled();
    }
    const drawn: FaultKind[] = [];
    for (let left = this.random.whole(1, 3); left > 0; left -= 1) this.draw(drawn);
    const companion = this.random.pick(companions);
    if (this.rounds > 0 && this.random.chance(0.4) && this.kinds.includes(companion) && !drawn.includes(companion))
      drawn.push(companion);
    const pauseMs = this.random.whole(500, 2_500);
    return { faults: drawn.map((kind, index) => this.planned(kind, index)), pauseMs };
  }

  /** It found no occasion. */
  giveBack(kind: FaultKind): void {
    this.deck.unshift(kind);
  }

  private draw(drawn: FaultKind[]): void {
    const fits = (kind: FaultKind): boolean =>
      !drawn.includes(kind) && !(ofTheServer.has(kind) && drawn.some((other) => ofTheServer.has(other)));
    const index = this.deck.findIndex(fits);
    if (index >= 0) drawn.push(...this.deck.splice(index, 1));
  }

  private planned(kind: FaultKind, index: number): PlannedFault {
    this.made += 1;
    const afterMs = index === 0 ? 0 : this.random.whole(0, 1_200);
    return { kind, number: this.made, seed: this.random.whole(0, 2 ** 31), afterMs };
  }

  private shuffled(): FaultKind[] {
    const left = [...this.kinds];
    const order: FaultKind[] = [];
    while (left.length > 0) order.push(...left.splice(this.random.whole(0, left.length - 1), 1));
    return order;
  }
}
