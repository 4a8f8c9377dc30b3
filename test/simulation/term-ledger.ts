import type { ElectorState } from "../../src/election/core/elector-state.js";
import type { Effect, Input } from "../../src/election/core/messages.js";
import type { Epoch, Role } from "../../src/election/core/names.js";
import { Violation } from "./violation.js";

/** The life of one process's terms, as its effects tell it: each starts once, ends once, and is left alone afterwards. */
export class TermLedger {
  private readonly live = new Map<Role, Epoch>();
  private readonly latest = new Map<Role, Epoch>();
  private readonly node: number;

  constructor(node: number) {
    this.node = node;
  }

  follow(effects: readonly Effect[], input: Input): void {
    for (const effect of effects) {
      if (effect.kind === "elected") this.elected(effect.role, effect.epoch, input);
      else if (effect.kind === "draining") this.expectLive(effect.role, effect.epoch, "drains");
      else if (effect.kind === "ended") {
        this.expectLive(effect.role, effect.epoch, "ends");
        this.live.delete(effect.role);
      } else if (effect.kind === "release") {
        if (this.live.get(effect.role) === effect.epoch) this.fail(`releases the live epoch ${effect.epoch}`);
      } else if (effect.kind === "beat") {
        for (const { role, renew } of effect.orders) if (renew !== null) this.expectLive(role, renew, "renews");
      }
    }
  }

  /** The state and the effects tell the same story. */
  agree(state: ElectorState): void {
    for (const [name, { term }] of state.roles) {
      if ((term?.epoch ?? null) !== (this.live.get(name) ?? null)) {
        this.fail(`has epoch ${term?.epoch} of ${name} in its state and ${this.live.get(name)} by its effects`);
      }
    }
  }

  private elected(role: Role, epoch: Epoch, input: Input): void {
    const last = this.latest.get(role);
    if (last !== undefined && epoch <= last) this.fail(`is elected with ${epoch} after ${last}`);
    if (this.live.has(role)) this.fail(`is elected with ${epoch} while ${this.live.get(role)} lives`);
    if (input.kind !== "acquireReplied") this.fail(`is elected by a ${input.kind}`);
    this.live.set(role, epoch);
    this.latest.set(role, epoch);
  }

  private expectLive(role: Role, epoch: Epoch, does: string): void {
    if (this.live.get(role) !== epoch) this.fail(`${does} epoch ${epoch} of ${role}, but ${this.live.get(role)} lives`);
  }

  private fail(what: string): never {
    throw new Violation("term", `node ${this.node} ${what}`);
  }
}
