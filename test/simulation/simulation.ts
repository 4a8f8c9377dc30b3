import type { Notice } from "../../src/election/core/messages.js";
import type { DatabaseIdentity, Epoch, Role } from "../../src/election/core/names.js";
import { leaseRules } from "../../src/store/memory/lease-rules.js";
import { DatabaseClock } from "./clocks.js";
import type { Surroundings } from "./connection.js";
import type { Coverage } from "./coverage.js";
import type { Hooks } from "./hooks.js";
import { Invariants } from "./invariants.js";
import { Random } from "./random.js";
import { chooseScenario, type Scenario } from "./scenario.js";
import { Server } from "./server.js";
import { SimDatabase } from "./sim-database.js";
import { type NodeObserver, SimNode } from "./sim-node.js";
import type { ThemeName } from "./themes.js";
import { Trace } from "./trace.js";
import { fairWeather, ordinaryWeather, stillWeather, type Weather } from "./weather.js";
import type { WorkHabits } from "./work.js";
import { World } from "./world.js";

export interface SimulationOptions {
  readonly seed: number;
  readonly coverage: Coverage;
  readonly hooks: Hooks;
  readonly theme: ThemeName | null;
  readonly keepsText: boolean;
}

/** Everything of one run, put together from its seed. */
export class Simulation implements NodeObserver {
  readonly random: Random;
  readonly world: World;
  readonly scenario: Scenario;
  readonly server: Server;
  readonly nodes: readonly SimNode[];
  readonly weather: Weather;
  readonly coverage: Coverage;
  readonly invariants: Invariants;
  readonly habits: WorkHabits;
  /** The share of renewals that find their row locked by another transaction. */
  lockedRows = 0;

  constructor(options: SimulationOptions) {
    const { coverage, hooks } = options;
    this.random = new Random(options.seed);
    this.world = new World(this.random, new Trace(options.keepsText));
    this.scenario = chooseScenario(this.random, options.theme);
    this.coverage = coverage;
    this.weather = this.scenario.isTight ? stillWeather() : ordinaryWeather(this.random);
    this.habits = { fails: this.scenario.workFails, overruns: this.scenario.workOverruns };
    this.invariants = new Invariants(this.scenario);
    const clock = new DatabaseClock(this.random, this.scenario.isTight);
    const Database = hooks.database ?? SimDatabase;
    const database = new Database({
      now: () => clock.read(this.world.now),
      identity: hooks.ignoresIdentity ? null : ("primary" as DatabaseIdentity),
      rules: { ...leaseRules, ...hooks.rules },
      audit: this.invariants,
      rowIsLocked: () => this.random.chance(this.lockedRows),
    });
    for (const role of this.scenario.roles) database.ensureRole(role);
    this.server = new Server(this.world, database, clock, coverage);
    if (this.scenario.isTight) this.server.usualMs = 0.1;
    const around: Surroundings = { world: this.world, server: this.server, weather: this.weather, coverage };
    this.nodes = this.scenario.nodes.map((_plan, index) => new SimNode(index, this.scenario, around, this, hooks));
    this.invariants.watch(this.nodes, database);
    this.world.afterEvent = () => this.invariants.check();
    for (const node of this.nodes) this.world.after(this.random.between(0, 300), () => node.start());
  }

  resumed(): void {
    this.invariants.check();
  }

  committed(role: Role, epoch: Epoch): void {
    this.invariants.committed(role, epoch);
  }

  /** NOTIFY, in a transaction of its own: it may be lost, and reaches whoever listens at that moment. */
  announced(role: Role, notice: Notice): void {
    this.world.after(this.random.between(0.1, 3), () => {
      if (!this.server.isUp || this.random.chance(this.weather.loss)) return;
      for (const node of this.nodes) {
        const witness = node.links.get("witness");
        if (witness === undefined || !this.server.isAlive(witness.session)) continue;
        this.coverage.count("notice", notice.kind);
        witness.push({ kind: "noticed", role, notice });
      }
    });
  }

  /** The network is as good as it gets from now on, and the work does as it is told. */
  clearUp(): void {
    Object.assign(this.habits, { fails: 0, overruns: 0 });
    Object.assign(this.weather, fairWeather(this.random));
    this.lockedRows = 0;
  }
}
