import { type CronStanding, type FireOrder, planRound } from "../../../src/jobs/core/cron-round.js";
import type { Random } from "../random.js";
import type { Agenda } from "./agenda.js";
import type { FireAnswer, Ledger } from "./ledger.js";

/** One rule of the leader taken away. */
export interface LeaderFaults {
  readonly nodeClock?: boolean;
  readonly twoTransactions?: boolean;
  readonly startsFromNow?: boolean;
}

export interface LeaderWorld {
  readonly agenda: Agenda;
  readonly ledger: Ledger;
  readonly random: Random;
  readonly faults: LeaderFaults;
  /** How likely a request or a reply gets lost or is late just now. */
  readonly storm: () => number;
  readonly count: (what: string) => void;
}

const requestTimeoutMs = 1_000;
const longestSleepMs = 3_600_000;

/**
 * A leader of the crons: asks what is due, plans, fires, sleeps; as the runtime does, over a network that loses requests and
 * replies and delivers some after they were given up. What it has sent arrives even when it is dead.
 */
export class SimLeader {
  isOver = false;
  private readonly world: LeaderWorld;
  private readonly epoch: number;
  private readonly startedAt: number;
  /** Its own clock, beside the database's: never asked for anything that is written. */
  private readonly skewMs: number;
  private readonly drift: number;
  private frozenUntil = 0;
  private whenIdle: (() => void) | null = null;
  private isAsleep = false;

  constructor(world: LeaderWorld, epoch: number) {
    this.world = world;
    this.epoch = epoch;
    this.startedAt = world.agenda.now;
    this.skewMs = world.random.between(-600_000, 600_000);
    this.drift = world.random.between(-1e-4, 1e-4);
    this.look();
  }

  crash(): void {
    this.isOver = true;
  }

  freeze(ms: number): void {
    this.frozenUntil = this.world.agenda.now + ms;
  }

  /** Ends between two steps, and says when. */
  stop(ended: () => void): void {
    if (this.isAsleep) this.end(ended);
    else this.whenIdle = ended;
  }

  private end(ended: () => void): void {
    this.isOver = true;
    ended();
  }

  /** Anything this process does: not when it is over, and later where it is frozen. */
  private act(step: () => void): void {
    if (this.isOver) return;
    const { agenda } = this.world;
    if (this.frozenUntil > agenda.now) return agenda.at(this.frozenUntil, () => this.act(step));
    if (this.whenIdle !== null) return this.end(this.whenIdle);
    step();
  }

  private ask<Reply>(request: () => Reply, answered: (reply: Reply) => void): void {
    const { agenda, random, storm, count } = this.world;
    let isSettled = false;
    const settle = (step: () => void): void =>
      this.act(() => {
        if (isSettled) return;
        isSettled = true;
        step();
      });
    agenda.after(requestTimeoutMs, () =>
      settle(() => {
        count("unknown outcome");
        this.look();
      }),
    );
    if (random.chance(storm() / 2)) return count("request lost");
    const isLate = random.chance(storm());
    if (isLate) count("request late");
    agenda.after(isLate ? random.between(1_000, 8_000) : random.between(0.2, 20), () => {
      const reply = request();
      if (random.chance(storm())) return count("reply lost");
      agenda.after(random.between(0.2, 20), () => settle(() => answered(reply)));
    });
  }

  private look(): void {
    const { agenda, ledger } = this.world;
    this.isAsleep = false;
    this.ask(
      () => ({ now: agenda.now, crons: [...ledger.crons.values()] }),
      ({ now, crons }) => this.decide(crons, now),
    );
  }

  private decide(crons: readonly CronStanding[], asked: number): void {
    const { agenda, ledger, faults } = this.world;
    const now = faults.nodeClock === true ? agenda.now + this.skewMs : asked;
    const known = faults.startsFromNow === true ? crons.map((cron) => this.fromStart(cron)) : crons;
    const lastTicks = new Map(crons.map((cron) => [cron.name, cron.lastTick]));
    const { orders: planned, next } = planRound(known, now);
    const orders = planned.map((order) => ({ ...order, lastTick: lastTicks.get(order.cron) ?? order.lastTick }));
    if (orders.length === 0) return this.sleep(next === null ? longestSleepMs : next - now);
    if (faults.twoTransactions === true) return this.fireInTwo(orders);
    this.ask(
      () => ledger.fire(this.epoch, orders, agenda.now),
      (answers) => this.heed(answers),
    );
  }

  private fromStart(cron: CronStanding): CronStanding {
    return { ...cron, lastTick: Math.max(cron.lastTick, this.startedAt) };
  }

  private fireInTwo(orders: readonly FireOrder[]): void {
    const { agenda, ledger } = this.world;
    const enqueue = (answers: readonly FireAnswer[]): void => {
      for (const [index, order] of orders.entries()) {
        if (answers[index] === "fires") ledger.enqueue(this.epoch, order, agenda.now);
      }
    };
    this.ask(
      () => orders.map((order) => ledger.mark(this.epoch, order, agenda.now)),
      (answers) =>
        this.ask(
          () => enqueue(answers),
          () => this.heed(answers),
        ),
    );
  }

  private heed(answers: readonly FireAnswer[]): void {
    if (answers.includes("stale")) this.isOver = true;
    else this.look();
  }

  private sleep(ms: number): void {
    this.isAsleep = true;
    this.world.agenda.after(Math.max(1, Math.min(ms, longestSleepMs) * (1 + this.drift)), () =>
      this.act(() => this.look()),
    );
  }
}
