import type { Clock } from "../../../src/election/clock.js";
import type { Random } from "../random.js";
import type { VirtualTime } from "./virtual-time.js";

/** What a process meets next, and dies of. */
export interface DeathTrap {
  readonly method: string;
  readonly step: "sent" | "done" | "answered";
}

/**
 * One run of a node's program. Everything that reaches it comes through here: nothing reaches a process that has crashed, and
 * a frozen one gets it when it thaws.
 */
export class SimProcess {
  readonly node: number;
  isAlive = true;
  isFrozen = false;
  /** It cannot reach the database, nor the database it. */
  isCutOff = false;
  trap: DeathTrap | null = null;
  readonly clock: Clock;
  private readonly time: VirtualTime;
  private readonly random: Random;
  private held: (() => void)[] = [];

  constructor(node: number, time: VirtualTime, random: Random) {
    this.node = node;
    this.time = time;
    this.random = random;
    const began = random.whole(0, 1_000);
    this.clock = {
      mono: () => time.now + began,
      wall: () => time.now,
      boot: () => time.now,
      wakeAt: (mono, fire) => this.wakeAt(mono - began, fire),
    };
  }

  /** Something happens in this process, if it still runs. */
  reach(act: () => void): void {
    if (!this.isAlive) return;
    if (this.isFrozen) this.held.push(act);
    else act();
  }

  after(ms: number, act: () => void): void {
    this.time.after(ms, () => this.reach(act));
  }

  crash(): void {
    this.isAlive = false;
    this.held = [];
  }

  freeze(): void {
    this.isFrozen = true;
  }

  /** What waited comes now, and mostly in the order in which it would have come. */
  thaw(): void {
    this.isFrozen = false;
    const { held } = this;
    this.held = [];
    for (const act of held) this.after(this.random.chance(0.8) ? 0 : this.random.between(0, 5), act);
  }

  /** Never early, as no timer is, whatever sums of fractions come to. */
  private wakeAt(time: number, fire: () => void): () => void {
    let isOn = true;
    this.time.at(Math.ceil(time * 64) / 64, () =>
      this.reach(() => {
        if (!isOn) return;
        isOn = false;
        fire();
      }),
    );
    return () => {
      isOn = false;
    };
  }
}
