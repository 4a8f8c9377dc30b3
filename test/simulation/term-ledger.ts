import type { ElectorState } from "../../src/election/core/elector-state.js";
import type { Effect, Input } from "../../src/election/core/messages.js";
import type { Epoch, Role } from "../../src/election/core/names.js";
import { Violation } from "./violation.js";

/**
 * The life of one process's terms, as its inputs and effects tell it. Each begins with a reply that grants its epoch, is
 * announced once, ends once, and is left alone afterwards.
 */
export class TermLedger {
  /** Granted by a reply, and not yet told to the work. */
  private readonly granted = new Map<Role, Epoch>();
  private readonly live = new Map<Role, Epoch>();
  private readonly latest = new Map<Role, Epoch>();
  private readonly node: number;

  constructor(node: number) {
    this.node = node;
  }

  follow(effects: readonly Effect[], input: Input): void {
    if (input.kind === "acquireReplied" && input.reply.kind === "acquired") this.note(input.role, input.reply.epoch);
    for (const effect of effects) {
      if (effect.kind === "elected") this.elected(effect.role, effect.epoch);
      else if (effect.kind === "draining") this.expectLive(effect.role, effect.epoch, "drains");
      else if (effect.kind === "ended") {
        this.expectLive(effect.role, effect.epoch, "ends");
        this.live.delete(effect.role);
      } else if (effect.kind === "release") {
        if (this.live.get(effect.role) === effect.epoch) this.fail(`releases the live epoch ${effect.epoch}`);
      } else if (effect.kind === "beat") {
        for (const { role, renew } of effect.orders) if (renew !== null) this.renewed(role, renew);
      }
    }
  }

  /** A reply that was overtaken tells of an older grant. */
  private note(role: Role, epoch: Epoch): void {
    const known = this.granted.get(role);
    if (known === undefined || epoch > known) this.granted.set(role, epoch);
  }

  /** The state and the effects tell the same story. */
  agree(state: ElectorState): void {
    for (const [name, { term }] of state.roles) {
      if (term === null) this.granted.delete(name);
      const told = this.live.get(name) ?? null;
      const expected = term === null || term.unannounced !== null ? null : term.epoch;
      if (told !== expected) this.fail(`has epoch ${term?.epoch} of ${name} in its state and ${told} by its effects`);
      if (term !== null && told === null && this.granted.get(name) !== term.epoch) {
        this.fail(`has epoch ${term.epoch} of ${name}, which no reply has granted`);
      }
    }
  }

  private elected(role: Role, epoch: Epoch): void {
    const last = this.latest.get(role);
    if (last !== undefined && epoch <= last) this.fail(`is elected with ${epoch} after ${last}`);
    if (this.live.has(role)) this.fail(`is elected with ${epoch} while ${this.live.get(role)} lives`);
    if (this.granted.get(role) !== epoch) this.fail(`is elected with ${epoch}, which no reply has granted`);
    this.live.set(role, epoch);
    this.latest.set(role, epoch);
  }

  private renewed(role: Role, epoch: Epoch): void {
    if (!this.live.has(role) && this.granted.get(role) === epoch) return;
    this.expectLive(role, epoch, "renews");
  }

  private expectLive(role: Role, epoch: Epoch, does: string): void {
    if (this.live.get(role) !== epoch) this.fail(`${does} epoch ${epoch} of ${role}, but ${this.live.get(role)} lives`);
  }

  private fail(what: string): never {
    throw new Violation("term", `node ${this.node} ${what}`);
  }
}
