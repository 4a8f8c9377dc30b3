import type { Lease } from "../../src/election/core/lease.js";
import type { ReleaseRequest } from "../../src/election/core/lease-rules.js";
import type { Epoch, Role, SessionRef } from "../../src/election/core/names.js";
import type { Scenario } from "./scenario.js";
import type { Audit, SimDatabase } from "./sim-database.js";
import type { SimNode } from "./sim-node.js";
import { Violation } from "./violation.js";

/** What must hold at every step. What the database does is checked at its commits, the rest after every event. */
export class Invariants implements Audit {
  private readonly scenario: Scenario;
  private nodes: readonly SimNode[] = [];
  private database: SimDatabase | null = null;
  /** The highest epoch ever granted, lost commits included: no token may repeat. */
  private readonly granted_ = new Map<Role, Epoch>();
  /** The highest epoch that ever committed, lost commits included. */
  private readonly committed_ = new Map<Role, Epoch>();

  constructor(scenario: Scenario) {
    this.scenario = scenario;
  }

  watch(nodes: readonly SimNode[], database: SimDatabase): void {
    this.nodes = nodes;
    this.database = database;
  }

  granted(role: Role, before: Lease, lockHolder: SessionRef | null): void {
    const epoch = this.epochOf(role);
    const highest = this.granted_.get(role);
    if (highest !== undefined && epoch <= highest) {
      throw new Violation("G2", `epoch ${epoch} of ${role} is granted after ${highest}`);
    }
    const isHeld = before.onStall === "hold" && before.holder !== null && lockHolder !== null;
    if (isHeld && lockHolder === before.lockSession) {
      throw new Violation("R7", `${role} is taken from ${before.holder}, which holds it by its lock`);
    }
    this.granted_.set(role, epoch);
    this.committed_.set(role, epoch);
  }

  raised(role: Role): void {
    const epoch = this.epochOf(role);
    const highest = this.committed_.get(role);
    if (highest === undefined || epoch > highest) this.committed_.set(role, epoch);
  }

  released(role: Role, before: Lease, request: ReleaseRequest): void {
    const { incarnation } = request.holder;
    if (before.epoch !== request.epoch || before.incarnation !== incarnation) {
      throw new Violation("R4", `a release of epoch ${request.epoch} of ${role} frees epoch ${before.epoch}`);
    }
    const holder = this.nodes.find((node) => node.incarnation === incarnation);
    if (holder?.works.get(role)?.epoch === request.epoch) {
      throw new Violation("R9", `node ${holder.index} releases ${role} while work of epoch ${request.epoch} runs`);
    }
  }

  wrote(role: Role, before: Lease, after: Lease): void {
    if (after.epoch < before.epoch) {
      throw new Violation("R1", `the epoch of ${role} falls from ${before.epoch} to ${after.epoch}`);
    }
    const isRenewal = before.epoch === after.epoch && after.holder !== null && after.renewedAt !== before.renewedAt;
    const hadRunOut = before.expiresAt <= after.renewedAt && before.onStall === "depose";
    if (isRenewal && hadRunOut) throw new Violation("R4", `epoch ${before.epoch} of ${role} is renewed after its end`);
  }

  /** A fenced write commits. */
  committed(role: Role, epoch: Epoch): void {
    const highest = this.committed_.get(role);
    if (highest !== undefined && highest > epoch) {
      throw new Violation("G1", `a write of ${role} stamped ${epoch} commits after ${highest} has`);
    }
  }

  check(): void {
    for (const role of this.scenario.roles) {
      if (this.scenario.checksG3) this.checkGates(role);
      this.checkHeirs(role);
    }
  }

  /** G3. Code that does not run cannot act; it is looked at again the moment it resumes. */
  private checkGates(role: Role): void {
    let open: SimNode | null = null;
    for (const node of this.nodes) {
      if (!node.isRunning() || !node.gateIsOpen(role, null)) continue;
      if (open !== null) {
        const epochs = [open, node].map(({ state }) => state.roles.get(role)?.term?.epoch);
        const who = `${open.index} (epoch ${epochs[0]}) and ${node.index} (epoch ${epochs[1]})`;
        throw new Violation("G3", `the gates of ${role} are open on nodes ${who}`);
      }
      open = node;
    }
  }

  /** A node whose beat is under way may have given the lock back without knowing it yet. */
  private checkHeirs(role: Role): void {
    let heir: SimNode | null = null;
    for (const node of this.nodes) {
      const { lock, beat, roles } = node.state;
      if (!roles.get(role)?.isHeir || beat.request !== null) continue;
      if (lock.kind !== "open" || !this.database?.isAlive(lock.ref)) continue;
      if (heir !== null) throw new Violation("heir", `nodes ${heir.index} and ${node.index} are both heir of ${role}`);
      heir = node;
    }
  }

  private epochOf(role: Role): Epoch {
    if (this.database === null) throw new Error("Nothing is watched yet.");
    return this.database.lease(role).epoch;
  }
}
