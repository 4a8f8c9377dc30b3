import { graceMs } from "../../src/election/core/elector-state.js";
import type { Epoch, NodeId, Role } from "../../src/election/core/names.js";
import type { FaultKind } from "./fault-kinds.js";
import type { Mode, SimNode } from "./sim-node.js";
import type { Simulation } from "./simulation.js";
import { roughen } from "./weather.js";

/** Breaks things, one at a time and on top of each other, until the faults are over. */
export class Faults {
  private readonly simulation: Simulation;
  private isOver = false;
  /** The node that the last fault hit. */
  private hit: SimNode | null = null;
  /** Counts the partitions of each node, so that the end of an old one does not heal a new one. */
  private readonly cuts = new Map<SimNode, number>();

  constructor(simulation: Simulation) {
    this.simulation = simulation;
  }

  start(): void {
    this.plan();
  }

  private plan(): void {
    const { world, random, scenario } = this.simulation;
    // Faults come in bursts too: the next one may hit the same node a moment later.
    const follows = this.hit !== null && random.chance(0.25);
    if (!follows) this.hit = null;
    const delayMs = follows
      ? random.pick([0, 5, 40, 200]) * random.unit()
      : random.between(0.05, 1.95) * scenario.faultEveryMs;
    world.after(delayMs, () => {
      if (this.isOver) return;
      const kind = random.weighted(scenario.faults);
      if (this.apply(kind)) {
        this.simulation.coverage.count("fault", kind);
        world.trace.note(world.now, -2, `fault: ${kind}`, null);
      }
      this.plan();
    });
  }

  /** Heals everything. What is under way in the network comes to its end. */
  end(): void {
    const { simulation } = this;
    const { server, nodes, random, world } = simulation;
    this.isOver = true;
    world.trace.note(world.now, -2, "the faults are over", null);
    simulation.clearUp();
    server.slowMs = 0;
    server.holdMs = 2;
    server.abortAll();
    for (const node of nodes) {
      this.healCut(node);
      Object.assign(node.lagMs, { up: 0, down: 0 });
      for (const connection of node.connections) connection.revive();
      if (node.mode !== "dead") node.resume();
      if (!node.contending) this.setCandidacy(node, true);
      if (node.mode === "dead") world.after(random.between(1, 300), () => node.start());
    }
  }

  private apply(kind: FaultKind): boolean {
    const { simulation } = this;
    const { random, server, world, weather } = simulation;
    const ttlMs = simulation.scenario.nodes[0]!.timing.ttlMs;
    switch (kind) {
      case "crash":
        return this.crash(this.target(), random.between(20, 2 * ttlMs));
      case "pause":
        return this.stop("paused", random.between(0.3, 3) * ttlMs);
      case "suspend":
        return this.stop("suspended", random.between(0.1, 3) * ttlMs);
      case "block":
        return this.stop("blocked", random.between(0.05, 1.5) * ttlMs);
      case "partition":
        return this.cut("both", random.between(0.1, 1.5) * ttlMs);
      case "partition_up":
        return this.cut("up", random.between(0.1, 2) * ttlMs);
      case "partition_down":
        return this.cut("down", random.between(0.1, 2) * ttlMs);
      case "cut_off":
        return this.cut("both", random.between(1.5, 3) * ttlMs);
      case "kill_one":
        return this.kill(1);
      case "kill_all":
        return this.kill(9);
      case "reset_one":
        return this.resetOne();
      case "reset_both":
        return this.resetBoth();
      case "reset_in_turn":
        return this.resetInTurn();
      case "restart":
        if (!server.isUp) return false;
        server.restart(random.between(0, 1) * ttlMs);
        return true;
      case "failover":
        return this.failOver(random.between(0, 1) * ttlMs);
      case "step_down":
        return this.stepDown(false);
      case "handover":
        return this.stepDown(true);
      case "candidacy":
        return this.leave(random.between(0.2, 2) * ttlMs);
      case "slow_database":
        server.slowMs = random.pick([50, 300, 1_000]);
        return this.later(random.between(100, ttlMs), () => (server.slowMs = 0));
      case "rough_network": {
        const before = { ...weather };
        roughen(weather, random);
        return this.later(random.between(200, 2 * ttlMs), () => Object.assign(weather, before));
      }
      case "slow_link":
        return this.slowLink(this.target(), random.between(100, 2 * ttlMs));
      case "wall_jump":
        // Never back by just the length of a suspend: the two would cancel out, and the gate could not tell.
        this.target().clock.jumpWall(
          random.pick([-7_200_000, -3_600_000, -60_000, 30, 200, 1_000, 3_600_000, 9_000_000]),
        );
        return true;
      case "database_clock_back":
        server.clock.step(-random.pick([20, 500, 5_000, 3_600_000]));
        return true;
      case "database_clock_forward":
        server.clock.step(random.pick([500, 5_000, 3_600_000]));
        return true;
      case "locked_row":
        simulation.lockedRows = random.pick([0.3, 0.8, 1]);
        return this.later(random.between(100, ttlMs), () => (simulation.lockedRows = 0));
      case "held_write":
        server.holdMs = random.between(50, 2 * ttlMs);
        return this.later(random.between(100, ttlMs), () => (server.holdMs = 2));
      case "advance_epoch":
        this.advanceEpoch(random.pick(simulation.scenario.roles));
        return true;
      case "path_change":
        return this.changePath();
    }
    world.trace.note(world.now, -2, "no such fault", kind);
    return false;
  }

  private later(delayMs: number, act: () => unknown): true {
    this.simulation.world.after(delayMs, () => {
      if (!this.isOver) act();
    });
    return true;
  }

  /** Mostly a leader: that is where it hurts. */
  private target(): SimNode {
    this.hit ??= this.chooseTarget();
    return this.hit;
  }

  private chooseTarget(): SimNode {
    const { random, nodes } = this.simulation;
    const leaders = nodes.filter((node) => [...node.state.roles.values()].some((role) => role.term !== null));
    return leaders.length > 0 && random.chance(0.65) ? random.pick(leaders) : random.pick(nodes);
  }

  private crash(node: SimNode, downMs: number): boolean {
    if (node.mode === "dead") return false;
    node.crash();
    this.later(downMs, () => node.start());
    return true;
  }

  private stop(mode: Exclude<Mode, "running" | "dead">, forMs: number): boolean {
    const { random, nodes } = this.simulation;
    // Now and then the heir stops together with the leader.
    const targets = random.chance(0.15) ? nodes : [this.target()];
    let stopped = false;
    for (const node of targets) if (this.stopFor(node, mode, forMs * random.between(0.5, 1))) stopped = true;
    return stopped;
  }

  private stopFor(node: SimNode, mode: Exclude<Mode, "running" | "dead">, forMs: number): boolean {
    if (!node.stop(mode)) return false;
    const { stops } = node;
    const isSame = (): boolean => node.stops === stops && node.mode === mode;
    if (mode === "suspended") this.dropWhile(node, isSame);
    this.later(forMs, () => isSame() && node.resume());
    return true;
  }

  private cut(ways: "both" | "up" | "down", forMs: number): boolean {
    const node = this.target();
    if (node.cut.up || node.cut.down) return false;
    const order = (this.cuts.get(node) ?? 0) + 1;
    this.cuts.set(node, order);
    node.cut.up = ways !== "down";
    node.cut.down = ways !== "up";
    const isSame = (): boolean => this.cuts.get(node) === order && (node.cut.up || node.cut.down);
    this.dropWhile(node, isSame);
    this.later(forMs, () => isSame() && this.healCut(node));
    return true;
  }

  private healCut(node: SimNode): void {
    const wasCut = { ...node.cut };
    node.cut.up = false;
    node.cut.down = false;
    for (const connection of node.connections) {
      if (wasCut.up) connection.heal("up");
      if (wasCut.down) connection.heal("down");
    }
  }

  /** The server's keep-alive gives a silent peer up, after its trust has run out (R6). */
  private dropWhile(node: SimNode, isSilent: () => boolean): void {
    const { server, random } = this.simulation;
    const { incarnation } = node;
    this.later(node.keepAliveMs * random.between(1, 1.3), () => {
      if (!isSilent()) return;
      for (const ref of server.sessionsOf(incarnation)) server.end(ref, "dropped");
    });
  }

  private kill(atMost: number): boolean {
    const { server, random } = this.simulation;
    const refs = [...server.sessionsOf(this.target().incarnation)];
    for (let killed = 0; killed < atMost && refs.length > 0; killed++) {
      const [ref] = refs.splice(random.whole(0, refs.length - 1), 1);
      server.end(ref!, "killed");
    }
    return true;
  }

  /**
   * A firewall resets one of the two sessions at the server's side; nothing counts it, and the client may not hear of it.
   * The other has to be alive, or its end known to the elector: both gone behind its back is what `reset_both` is for.
   */
  private resetOne(): boolean {
    const { server, random } = this.simulation;
    const node = this.target();
    const { lock, witness } = node.state;
    const [first, second] = random.chance(0.5) ? [lock, witness] : [witness, lock];
    if (first.kind !== "open" || first.ref === null || !server.isAlive(first.ref)) return false;
    if (second.kind === "open" && !server.isAlive(second.ref)) return false;
    server.end(first.ref, "dropped");
    return true;
  }

  /** First the witness, and as soon as the elector has heard of it, silently, the other one. */
  private resetInTurn(): boolean {
    const { server, world } = this.simulation;
    const node = this.target();
    const { lock, witness } = node.state;
    if (lock.kind !== "open" || witness.kind !== "open" || lock.ref === null || witness.ref === null) return false;
    if (!server.isAlive(lock.ref)) return false;
    server.end(witness.ref, "dropped");
    const { ref } = lock;
    let looks = 0;
    const look = (): void => {
      const isKnown = node.state.witness.kind !== "open" || node.state.witness.ref !== witness.ref;
      if (isKnown) server.end(ref, "dropped");
      else if (++looks < 200 && !this.isOver) world.after(1, look);
    };
    look();
    return true;
  }

  private slowLink(node: SimNode, forMs: number): boolean {
    const { random } = this.simulation;
    const mostMs = node.plan.timing.requestTimeoutMs;
    node.lagMs.up = random.pick([0, 0.5, 1]) * mostMs;
    node.lagMs.down = random.pick([0.5, 1]) * mostMs;
    return this.later(forMs, () => Object.assign(node.lagMs, { up: 0, down: 0 }));
  }

  /** Both sessions, behind the client's back. Without a grace that is beyond what G3 promises. */
  private resetBoth(): boolean {
    const { server, scenario, random } = this.simulation;
    const node = this.target();
    const leads = [...node.state.roles.values()].some((role) => role.term !== null);
    const isCovered = graceMs(node.state) > 0 || node.plan.terms.takeover === "lease";
    if (leads && !isCovered && scenario.theme !== "forged_resets") return false;
    for (const ref of server.sessionsOf(node.incarnation)) server.end(ref, "dropped");
    // A node that cannot take the news in keeps its gate open for as long as it may.
    if (random.chance(0.4)) {
      const mode = random.pick(["blocked", "paused", "suspended"] as const);
      this.stopFor(node, mode, node.plan.timing.fenceMs * random.between(0.1, 1));
    }
    return true;
  }

  private failOver(downMs: number): boolean {
    const { server, random } = this.simulation;
    if (!server.isUp) return false;
    server.failOver(random.whole(0, 8), downMs);
    return true;
  }

  private stepDown(isNamed: boolean): boolean {
    const { random, nodes, scenario } = this.simulation;
    const role = random.pick(scenario.roles);
    const leader = nodes.find((node) => node.state.roles.get(role)?.term);
    if (leader === undefined) return false;
    const others = nodes.filter((node) => node !== leader);
    // Now and then it names a node that will never come.
    const named = random.chance(0.2) ? ("gone" as NodeId) : random.pick(others).plan.id;
    const to = isNamed ? named : null;
    const yieldMs = random.pick([0, 0, 1_000]);
    // The lock goes to the heir all the same; a slow one asks when the named node leads already.
    const heir = nodes.find((node) => node.state.roles.get(role)?.isHeir);
    if (isNamed && heir !== undefined && random.chance(0.5)) this.slowLink(heir, random.between(200, 1_000));
    leader.receive({ kind: "stepDown", role, to, reason: "stepped_down", yieldMs }, null);
    return true;
  }

  private leave(forMs: number): boolean {
    const node = this.target();
    if (!node.contending || node.mode === "dead") return false;
    this.setCandidacy(node, false);
    this.later(forMs, () => this.setCandidacy(node, true));
    return true;
  }

  private setCandidacy(node: SimNode, on: boolean): void {
    node.contending = on;
    node.receive({ kind: "candidacy", on }, null);
  }

  /** The operator's transaction takes the fence, so it waits for the writes that hold it. */
  private advanceEpoch(role: Role): void {
    const { server, random } = this.simulation;
    if (server.fenceIsHeld(role)) {
      this.later(random.between(1, 50), () => this.advanceEpoch(role));
      return;
    }
    const epoch = (server.database.lease(role).epoch + BigInt(random.whole(0, 5))) as Epoch;
    server.database.advanceEpoch(role, epoch);
  }

  /** The node reconnects, and something stands between it and the database from now on, or no longer does. */
  private changePath(): boolean {
    const node = this.target();
    node.path = node.path === "direct" ? "proxied" : "direct";
    for (const connection of node.connections) connection.hearEnd();
    return true;
  }
}
