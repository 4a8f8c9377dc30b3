import type { CronStanding } from "../../../src/jobs/core/cron-round.js";
import { openSchedule } from "../../../src/jobs/core/cron-schedule.js";
import { Random } from "../random.js";
import { Agenda } from "./agenda.js";
import { almanac, year } from "./almanac.js";
import { auditYear, type CronBreach } from "./audit.js";
import { cases } from "./cases.js";
import { type LeaderFaults, SimLeader } from "./leader.js";
import { Ledger, type LedgerFaults } from "./ledger.js";

export type Sabotage = LeaderFaults & LedgerFaults;

export interface YearOutcome {
  readonly seed: number;
  readonly breach: CronBreach | null;
  readonly events: number;
  readonly jobs: number;
  /** How often each fault, and each refusal, happened. */
  readonly happened: ReadonlyMap<string, number>;
  /** Equal where a run is repeated. */
  readonly trace: string;
}

const failoverCount = 200;
/** A leader that freezes and is not deposed. */
const hiccupCount = 200;
const kinds = ["crash", "stall", "clean"] as const;
type FailoverKind = (typeof kinds)[number];

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** A year of crons under leaders that crash, freeze and step down, one after the other. */
class SimulatedYear {
  private readonly agenda = new Agenda(year.from);
  private readonly random: Random;
  private readonly ledger: Ledger;
  private readonly happened = new Map<string, number>();
  private readonly failovers: readonly number[];
  private readonly faults: Sabotage;
  private leader: SimLeader | null = null;
  private stormUntil = 0;

  constructor(seed: number, faults: Sabotage) {
    this.random = new Random(seed);
    this.faults = faults;
    this.ledger = new Ledger(cases.map(standingOf), faults);
    this.failovers = this.chooseFailovers();
  }

  run(seed: number): YearOutcome {
    this.elect();
    this.failovers.forEach((time, index) => {
      this.agenda.at(time, () => this.failOver(kinds[index % kinds.length] ?? "crash"));
    });
    for (let times = 0; times < hiccupCount; times += 1) {
      const tick = this.random.pick(this.random.pick([...almanac().ticks.values()]));
      this.agenda.at(tick + this.random.between(0, 40), () => {
        this.leader?.freeze(this.random.between(1_000, 9_000));
        this.count("hiccup");
      });
    }
    // The last hours are calm: whoever leads then has to have caught up by the end.
    this.agenda.runUntil(year.to);
    for (const [answer, times] of this.ledger.answers) this.happened.set(`answer: ${answer}`, times);
    const { jobs, firings } = this.ledger;
    return {
      seed,
      breach: auditYear(this.ledger, year.to - hourMs),
      events: this.agenda.events,
      jobs: jobs.length,
      happened: this.happened,
      trace: `${jobs.length} ${firings.length} ${firings.reduce((sum, { at }) => (sum * 31 + at) % 1e12, 7)}`,
    };
  }

  /** A third anywhere, a third just around a tick, a third around the changes of the clocks; not in the last days. */
  private chooseFailovers(): readonly number[] {
    const { random } = this;
    const { changes, ticks } = almanac();
    const lists = [...ticks.values()];
    const last = year.to - 5 * 24 * hourMs;
    const times = Array.from({ length: failoverCount }, (_, index) => {
      if (index % 3 === 0) return random.between(year.from, last);
      if (index % 3 === 1) return random.pick(random.pick(lists)) + random.between(-30, 60);
      return random.pick(changes) + random.between(-2 * hourMs, 2 * hourMs);
    });
    return times.map((time) => Math.min(time, last)).toSorted((a, b) => a - b);
  }

  private count(what: string): void {
    this.happened.set(what, (this.happened.get(what) ?? 0) + 1);
  }

  private elect(): void {
    this.ledger.epoch += 1;
    const { agenda, ledger, random, faults } = this;
    const storm = (): number => (agenda.now < this.stormUntil ? 0.25 : 0.002);
    const world = { agenda, ledger, random, faults, storm, count: (what: string) => this.count(what) };
    this.leader = new SimLeader(world, ledger.epoch);
  }

  private failOver(kind: FailoverKind): void {
    const { leader, agenda, random } = this;
    // Nobody leads just now: it falls when somebody does again.
    if (leader === null) return agenda.after(random.between(10, 5_000), () => this.failOver(kind));
    this.leader = null;
    this.count(kind);
    this.stormUntil = agenda.now + random.between(0, 2 * minuteMs);
    const isLong = random.chance(0.15);
    if (isLong) this.count("long absence");
    const away = isLong ? random.between(minuteMs, 4 * 24 * hourMs) : 0;
    switch (kind) {
      case "crash":
        leader.crash();
        return agenda.after(away + random.between(5, 50), () => this.elect());
      case "stall":
        leader.freeze(away + random.between(4_000, 20_000));
        return agenda.after(away + random.between(5_000, 7_000), () => this.elect());
      case "clean":
        return leader.stop(() => agenda.after(away + random.between(1, 20), () => this.elect()));
    }
  }
}

function standingOf({ name, text, zone, policy }: (typeof cases)[number]): CronStanding {
  const opened = openSchedule(text, zone);
  if (opened.kind === "refused") throw new Error(opened.reason);
  return { name, generation: 1, lastTick: year.from, schedule: opened.schedule, policy };
}

export function simulateYear(seed: number, faults: Sabotage = {}): YearOutcome {
  return new SimulatedYear(seed, faults).run(seed);
}
