import { setTimeout as pause } from "node:timers/promises";
import { Random } from "../simulation/random.js";
import { monotonicMs } from "./clock.js";
import type { Cluster } from "./cluster.js";
import type { Facts, FaultScene } from "./faults/fault.js";
import { strikes } from "./faults/strikes.js";
import type { FaultKind, HistoryEvent } from "./history.js";
import { Plan, type PlannedFault, type Wave } from "./plan.js";
import type { Scene } from "./workload.js";

export interface CampaignOptions {
  readonly cluster: Cluster;
  readonly load: Scene;
  readonly seed: number;
  readonly faults: readonly FaultKind[];
  readonly log: (event: HistoryEvent) => void;
  /** Whether all has been refused that these faults are there to make refused. */
  readonly isRefusedEnough: () => Promise<boolean>;
  /** Ends where the run is given up. */
  readonly signal: AbortSignal;
}

/** So many waves in a row without what is still missing are enough to say that it cannot be brought about. */
const patienceWaves = 12;

/** Wave after wave of what the plan says, until the time is over, each fault has happened once and each refusal was seen. */
export class FaultCampaign {
  readonly happened = new Map<FaultKind, number>();
  private readonly options: CampaignOptions;
  private readonly plan: Plan;
  private readonly active = new Map<number, string>();
  private readonly startedAt = monotonicMs();

  constructor(options: CampaignOptions) {
    this.options = options;
    this.plan = new Plan(options.seed, options.faults);
  }

  async run(forMs: number): Promise<void> {
    const until = this.startedAt + forMs;
    let overtime = 0;
    while (!this.options.signal.aborted) {
      const isOver = monotonicMs() >= until;
      if (isOver) {
        if (overtime >= patienceWaves || (this.isCovered && (await this.options.isRefusedEnough()))) return;
        overtime += 1;
      }
      await this.strike(this.plan.next());
    }
  }

  progress(): string {
    const seconds = ((monotonicMs() - this.startedAt) / 1_000).toFixed(0);
    const count = [...this.happened.values()].reduce((sum, one) => sum + one, 0);
    const now = [...this.active.values()].join(", ") || "calm";
    return `${seconds.padStart(4)} s  ${count} faults of ${this.happened.size} kinds  now: ${now}`;
  }

  private get isCovered(): boolean {
    return this.options.faults.every((kind) => this.happened.has(kind));
  }

  private async strike({ faults, pauseMs }: Wave): Promise<void> {
    await Promise.all(faults.map((fault) => this.strikeOne(fault)));
    await pause(pauseMs, undefined, { signal: this.options.signal }).catch(() => undefined);
  }

  private async strikeOne({ kind, number, seed, afterMs }: PlannedFault): Promise<void> {
    const { cluster, load, log, signal } = this.options;
    await pause(afterMs, undefined, { signal }).catch(() => undefined);
    const begun: { readonly on: string; readonly facts: Facts }[] = [];
    const tell = (phase: "begin" | "end", on: string, { at, ...facts }: Facts): void =>
      log({ by: "orchestrator", at: at ?? monotonicMs(), kind: "fault", fault: kind, number, phase, on, ...facts });
    const scene: FaultScene = {
      cluster,
      load,
      number,
      random: new Random(seed),
      signal,
      begin: (on, facts = {}) => {
        begun.push({ on, facts });
        this.active.set(number, `${kind} ${on}`);
        this.happened.set(kind, (this.happened.get(kind) ?? 0) + 1);
        tell("begin", on, facts);
      },
    };
    try {
      await strikes[kind](scene);
    } finally {
      this.active.delete(number);
      if (begun.length === 0) this.plan.giveBack(kind);
      for (const { on, facts } of begun) tell("end", on, { ...facts, at: monotonicMs() });
    }
  }
}
