import type { Epoch, Incarnation, Role } from "../../src/election/core/names.js";
import type { Surroundings } from "./connection.js";
import type { ServerTransaction } from "./server.js";

/** The process that the work runs in. */
export interface Workplace {
  readonly index: number;
  readonly cut: { up: boolean; down: boolean };
  readonly drainTimeoutMs: number;
  /** Another one, once the process has died. */
  readonly incarnation: Incarnation;
  /** Whether code runs just now: not while paused or suspended. */
  isRunning(): boolean;
  gateIsOpen(role: Role, epoch: Epoch): boolean;
  /** Calls back when code runs again, at once if it does. */
  whenRunning(act: () => void): void;
  settled(work: Work): void;
  failed(work: Work): void;
  committed(role: Role, epoch: Epoch): void;
}

/** How often work fails, and how often it takes longer to stop than a drain waits. */
export interface WorkHabits {
  fails: number;
  overruns: number;
}

/**
 * The work of one term. It acts wherever the gate lets it: on an outside system, which the gates alone protect (G3), and
 * in fenced transactions, which the database protects (G1). Told to stop it settles, sooner or later.
 */
export class Work {
  readonly role: Role;
  readonly epoch: Epoch;
  isSettled = false;
  private isStopping = false;
  private readonly around: Surroundings;
  private readonly place: Workplace;
  private readonly habits: WorkHabits;
  private readonly incarnation: Incarnation;

  constructor(around: Surroundings, place: Workplace, role: Role, epoch: Epoch, habits: WorkHabits) {
    this.around = around;
    this.place = place;
    this.incarnation = place.incarnation;
    this.role = role;
    this.epoch = epoch;
    this.habits = habits;
  }

  start(): void {
    const { world } = this.around;
    this.actSoon();
    if (world.random.chance(this.habits.fails)) {
      world.after(world.random.between(10, 2_000), () => {
        if (this.goesOn() && !this.isStopping && this.habits.fails > 0) this.place.failed(this);
      });
    }
  }

  stop(): void {
    if (this.isStopping) return;
    this.isStopping = true;
    const { world } = this.around;
    const overruns = world.random.chance(this.habits.overruns);
    const takesMs = overruns ? this.place.drainTimeoutMs * world.random.between(1, 3) : world.random.between(0, 30);
    world.after(takesMs, () => {
      this.place.whenRunning(() => {
        if (!this.goesOn()) return;
        this.isSettled = true;
        this.place.settled(this);
      });
    });
  }

  private goesOn(): boolean {
    return !this.isSettled && this.lives();
  }

  /** A write that is under way does not stop with the work, only with the process. */
  private lives(): boolean {
    return this.place.incarnation === this.incarnation;
  }

  private actSoon(): void {
    const { world } = this.around;
    world.after(world.random.between(50, 400), () => {
      if (!this.goesOn()) return;
      if (this.place.isRunning()) this.act();
      this.actSoon();
    });
  }

  /** Whether another node's gate is open at this very moment is checked by the invariants. */
  act(): void {
    const { world, coverage } = this.around;
    const open = this.place.gateIsOpen(this.role, this.epoch);
    coverage.count("act", open ? "at an open gate" : "at a shut gate");
    if (open && world.random.chance(0.6)) this.write();
  }

  /** A connection to wait for, BEGIN, some thinking, then the assert and COMMIT in one message. */
  private write(): void {
    const { server } = this.around;
    this.later(() =>
      this.travel(() => {
        if (!server.isUp) return;
        const transaction = server.begin(server.database.begin(this.role, this.epoch));
        this.later(
          () => this.travel(() => this.assertAndCommit(transaction)),
          () => server.abort(transaction),
        );
      }),
    );
  }

  /** Mostly at once; now and then the process takes its time, or is stopped. */
  private later(act: () => void, orElse: () => void = () => undefined): void {
    const { world } = this.around;
    const afterMs = world.random.chance(0.2) ? world.random.between(20, 2_000) : world.random.between(0, 10);
    world.after(afterMs, () => {
      if (!this.lives()) orElse();
      else this.place.whenRunning(act);
    });
  }

  /** Between the assert and the COMMIT only the server can stop. */
  private assertAndCommit(transaction: ServerTransaction): void {
    const { world, server, coverage } = this.around;
    if (transaction.ended) return;
    if (!server.database.assertEpoch(transaction.fence)) {
      coverage.count("write", "refused");
      server.finish(transaction);
      return;
    }
    world.after(world.random.unit() * server.holdMs, () => {
      if (transaction.ended) return;
      server.finish(transaction);
      this.place.committed(this.role, this.epoch);
      // The reply may be lost, and then the client does not know. Nothing else depends on it.
      coverage.count("write", this.place.cut.down ? "unknown" : "committed");
    });
  }

  private travel(arrive: () => void): void {
    const { world, weather } = this.around;
    if (this.place.cut.up || world.random.chance(weather.loss)) return;
    const lateMs = world.random.chance(weather.late) ? world.random.between(50, 3_000) : 0;
    world.after(weather.baseMs + world.random.unit() * weather.jitterMs + lateMs, arrive);
  }
}
