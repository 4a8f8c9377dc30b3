import type { Step } from "../../src/election/core/elector-core.js";
import { draftOf, type ElectorState, type RoleState, type Term } from "../../src/election/core/elector-state.js";
import { gateIsOpen } from "../../src/election/core/leading.js";
import { type Holder, type NodeSessions, type Sighting, vacantLease } from "../../src/election/core/lease.js";
import { decideAcquire, decideRelease, decideRenew } from "../../src/election/core/lease-rules.js";
import type { BeatOrder, BeatReply, Effect, Input, WaitReply } from "../../src/election/core/messages.js";
import type { Epoch, Role, SessionRef } from "../../src/election/core/names.js";
import type { FencedTransaction } from "../../src/store/memory/database.js";
import type { Hooks } from "./hooks.js";
import { SimDatabase } from "./sim-database.js";
import type { ThemeName } from "./themes.js";
import type { Invariant } from "./violation.js";

/** A protocol with one rule broken, and the invariant that has to notice. */
export interface Sabotage {
  readonly name: string;
  readonly caughtBy: Invariant;
  readonly theme: ThemeName;
  readonly hooks: Hooks;
}

/** Commits without asking whether the epoch still leads. */
class Unfenced extends SimDatabase {
  override assertEpoch(): boolean {
    return true;
  }
}

/** Asks, and lets go of the fence before the commit: a check and not a lock. */
class SplitGuard extends SimDatabase {
  override assertEpoch(tx: FencedTransaction): boolean {
    const leads = super.assertEpoch(tx);
    tx.asserted = false;
    return leads;
  }
}

/** Waits for the lock without having seen the holder, and calls what the row says its sighting. */
class BlindHeir extends SimDatabase {
  override wait(
    session: SessionRef,
    role: Role,
    prior: Sighting | null,
    granted: (reply: WaitReply) => void,
  ): ReturnType<SimDatabase["wait"]> {
    const { epoch, lockSession, witnessSession } = this.lease(role);
    if (lockSession === null || witnessSession === null) return super.wait(session, role, prior, granted);
    const { kills } = this;
    return super.wait(session, role, { epoch, lockSession, witnessSession, kills, lockedAt: null }, granted);
  }
}

/** Keeps the lock after evidence that came to nothing. */
class KeptLock extends SimDatabase {
  override unlock(session: SessionRef, role: Role, name: "lock" | "heir"): void {
    if (name === "heir") super.unlock(session, role, name);
  }
}

/** Lets a renewal name the sessions of the day when it was sent, though its process has reconnected since. */
class LateRenewal extends SimDatabase {
  override beat(session: SessionRef, holder: Holder, orders: readonly BeatOrder[], sessions: NodeSessions): BeatReply {
    const reply = super.beat(session, holder, orders, sessions);
    for (const { role, renewal } of reply.answers) {
      if (renewal?.kind !== "renewed") continue;
      this.leases.set(role, { ...this.lease(role), lockSession: sessions.lock, witnessSession: sessions.witness });
    }
    return reply;
  }
}

/** Makes rows that do not say which database they belong to until somebody leads. */
class UnstampedRows extends SimDatabase {
  override ensureRole(role: Role): void {
    if (!this.leases.has(role)) this.leases.set(role, vacantLease(role));
  }
}

/** Edits the role states that a step left behind. */
function editRoles(
  edit: (role: RoleState, was: RoleState | undefined, context: { input: Input; step: Step }) => void,
): NonNullable<Hooks["afterStep"]> {
  return (step, { input, before }) => {
    const state = draftOf(step.state);
    for (const [name, role] of state.roles) edit(role, before.roles.get(name), { input, step });
    return { ...step, state };
  };
}

const addEffects = (step: Step, effects: readonly Effect[]): Step => ({
  ...step,
  effects: [...step.effects, ...effects],
});

export const sabotages: readonly Sabotage[] = [
  {
    name: "no fence: a write commits without an assert",
    caughtBy: "G1",
    theme: "stalls",
    hooks: { database: Unfenced },
  },
  {
    name: "split guard: the fence is not held from the assert to the commit",
    caughtBy: "G1",
    theme: "stalls",
    hooks: { database: SplitGuard },
  },
  {
    name: "trust counts from the receipt of the reply",
    caughtBy: "G3",
    theme: "stalls",
    hooks: {
      afterStep: (step, { before, now }) => {
        const state = draftOf(step.state);
        for (const [name, { term }] of state.roles) {
          const was = before.roles.get(name)?.term;
          if (term !== null && term.trust !== was?.trust) term.trust = { ...term.trust, since: now };
        }
        return { ...step, state };
      },
    },
  },
  {
    name: "boolean gate: only a timer shuts it",
    caughtBy: "G3",
    theme: "stalls",
    hooks: { gate: (term) => term.shutAt === null },
  },
  {
    name: "the gate asks the monotonic clock alone",
    caughtBy: "G3",
    theme: "clocks",
    hooks: {
      gate: (term, grace, { mono }) =>
        gateIsOpen(term, grace, mono, term.trust.since.wall + mono - term.trust.since.mono, () => 0),
    },
  },
  {
    name: "unguarded release: frees the lease of whoever holds it",
    caughtBy: "R4",
    theme: "ordinary",
    hooks: {
      rules: {
        decideRelease: (lease, request, facts) =>
          decideRelease(
            lease,
            {
              ...request,
              epoch: lease.epoch,
              holder: { ...request.holder, incarnation: lease.incarnation ?? request.holder.incarnation },
            },
            facts,
          ),
      },
    },
  },
  {
    name: "the epoch is not raised by an acquire",
    caughtBy: "G2",
    theme: "ordinary",
    hooks: {
      rules: {
        decideAcquire: (lease, request, facts) => {
          const decision = decideAcquire(lease, request, facts);
          if (decision.kind !== "acquired" || lease.epoch === 0n) return decision;
          return { ...decision, write: { ...decision.write, epoch: lease.epoch } };
        },
      },
    },
  },
  {
    name: "a release deletes the row, and the epoch starts again",
    caughtBy: "R1",
    theme: "working",
    hooks: {
      rules: {
        decideRelease: (lease, request, facts) => {
          const decision = decideRelease(lease, request, facts);
          return decision.kind === "released" ? { ...decision, write: vacantLease(lease.role) } : decision;
        },
      },
    },
  },
  {
    name: "a renewal does not name its exact epoch",
    caughtBy: "G3",
    // Where a term ends with its trust, trust from the sending alone keeps this harmless; `hold` terms go on.
    theme: "hold",
    hooks: {
      rules: {
        decideRenew: (lease, request, facts) => {
          const incarnation = lease.incarnation ?? request.holder.incarnation;
          return decideRenew(
            lease,
            { ...request, epoch: lease.epoch, holder: { ...request.holder, incarnation } },
            facts,
          );
        },
      },
    },
  },
  {
    name: "a lease whose acquire reply was lost is adopted",
    caughtBy: "term",
    theme: "ordinary",
    hooks: {
      afterStep: (step, { input, before, now }) => {
        const request = before.beat.request;
        if (input.kind !== "beatReplied" || request?.id !== input.id) return step;
        const state = draftOf(step.state);
        const effects: Effect[] = [];
        for (const role of state.roles.values()) adopt(role, state, now, effects);
        return addEffects({ ...step, state }, effects);
      },
    },
  },
  {
    name: "late replies are taken for the current one",
    caughtBy: "G3",
    theme: "crashes",
    hooks: {
      rewriteInput: (input, state) => {
        if (input.kind !== "beatReplied" && input.kind !== "acquireReplied") return input;
        const pending =
          input.kind === "beatReplied" ? state.beat.request : state.roles.get(input.role)?.campaign.request;
        return pending ? { ...input, id: pending.id } : input;
      },
    },
  },
  {
    name: "evidence without a sighting",
    caughtBy: "G3",
    theme: "sessions",
    hooks: { database: BlindHeir },
  },
  {
    name: "evidence with one of the two sessions gone",
    caughtBy: "G3",
    theme: "sessions",
    hooks: {
      rules: {
        decideAcquire: (lease, request, facts) =>
          decideAcquire(lease, request, {
            ...facts,
            lockSessionAlive: facts.lockSessionAlive && facts.witnessSessionAlive,
            witnessSessionAlive: facts.lockSessionAlive && facts.witnessSessionAlive,
          }),
      },
    },
  },
  {
    name: "evidence that takes a kill for a crash",
    caughtBy: "G3",
    theme: "sessions",
    hooks: {
      rules: {
        decideAcquire: (lease, request, facts) =>
          decideAcquire(lease, request, { ...facts, kills: request.evidence?.sighting.kills ?? facts.kills }),
      },
    },
  },
  {
    name: "the heir does not wait the grace out",
    caughtBy: "G3",
    theme: "grace",
    hooks: {
      rules: {
        decideAcquire: (lease, request, facts) => {
          const evidence = request.evidence && { ...request.evidence, graceServedMs: Number.POSITIVE_INFINITY };
          return decideAcquire(lease, { ...request, evidence }, facts);
        },
      },
    },
  },
  {
    name: "the gate does not observe the grace",
    caughtBy: "G3",
    theme: "grace",
    hooks: { gate: (term, _grace, now) => gateIsOpen(term, 0, now.mono, now.wall, () => now.boot) },
  },
  {
    name: "a stalled holder that holds the lock is deposed all the same",
    caughtBy: "R7",
    theme: "hold",
    hooks: {
      rules: {
        decideAcquire: (lease, request, facts) => decideAcquire(lease, request, { ...facts, lockSessionHolds: false }),
      },
    },
  },
  {
    name: "the database's identity is no part of the epoch",
    caughtBy: "G2",
    theme: "failover",
    hooks: { ignoresIdentity: true },
  },
  {
    name: "no quarantine after a failover of the database",
    caughtBy: "G3",
    theme: "failover",
    hooks: {
      rules: {
        decideAcquire: (lease, request, facts) => {
          const decision = decideAcquire(lease, request, facts);
          if (decision.kind !== "quarantined") return decision;
          return { ...decision, write: { ...decision.write, expiresAt: facts.now } };
        },
      },
    },
  },
  {
    name: "a drain that overruns releases early",
    caughtBy: "R9",
    theme: "working",
    hooks: {
      afterStep: (step) => {
        const early = step.effects.flatMap((effect): Effect[] =>
          effect.kind === "ended" && effect.reason === "drain_overrun"
            ? [{ ...effect, kind: "release", to: null, reserveMs: 0, dropLock: true }]
            : [],
        );
        return addEffects(step, early);
      },
    },
  },
  {
    name: "a shut gate is reopened by a renewal that was sent before",
    caughtBy: "G3",
    theme: "sessions",
    hooks: {
      afterStep: editRoles(({ term }, was) => {
        if (term !== null && was?.term && term.trust !== was.term.trust) term.shutAt = null;
      }),
    },
  },
  {
    name: "a closed socket does not shut the gate",
    caughtBy: "G3",
    theme: "ordinary",
    hooks: {
      afterStep: editRoles(({ term }) => {
        if (term !== null) term.shutAt = null;
      }),
    },
  },
  {
    name: "a renewal is worth less to the database than to the leader",
    caughtBy: "G3",
    theme: "stalls",
    hooks: {
      rules: {
        decideRenew: (lease, request, facts) => {
          const decision = decideRenew(lease, request, facts);
          if (decision.kind !== "renewed") return decision;
          return { ...decision, write: { ...decision.write, expiresAt: facts.now + lease.ttlMs * 0.85 } };
        },
      },
    },
  },
  {
    name: "an expiry beyond the TTL is not clamped after the clock was stepped back",
    caughtBy: "G6",
    theme: "clocks",
    hooks: {
      rules: {
        decideAcquire: (lease, request, facts) => {
          const decision = decideAcquire(lease, request, facts);
          return decision.kind === "held" ? { ...decision, write: null } : decision;
        },
      },
    },
  },
  {
    name: "the heir keeps the lock when its evidence comes to nothing",
    caughtBy: "G6",
    theme: "sessions",
    hooks: { database: KeptLock },
  },
  {
    name: "a campaign's sessions are not closed",
    caughtBy: "sessions",
    theme: "ordinary",
    hooks: {
      afterStep: (step) => ({
        ...step,
        effects: step.effects.filter((effect) => effect.kind !== "close" || effect.link.kind !== "campaign"),
      }),
    },
  },
  {
    name: "a late renewal names sessions that its process has given up",
    caughtBy: "G3",
    theme: "sessions",
    hooks: { database: LateRenewal },
  },
  {
    name: "a new row does not carry the database's identity",
    caughtBy: "G2",
    theme: "failover",
    hooks: { database: UnstampedRows },
  },
  {
    name: "the grace is measured by the monotonic clock alone",
    caughtBy: "G3",
    theme: "grace",
    hooks: {
      gate: (term, grace, now) => {
        const isProven = term.provenAt !== null && now.mono - term.provenAt.mono < grace;
        return (grace === 0 || isProven) && gateIsOpen(term, 0, now.mono, now.wall, () => now.boot);
      },
    },
  },
  {
    name: "a leader behind a proxy names its sessions in a row without a grace",
    caughtBy: "G3",
    theme: "proxied",
    hooks: {
      afterStep: (step) => {
        const state = draftOf(step.state);
        for (const role of state.roles.values()) if (role.term) role.term = { ...role.term, graceMs: Infinity };
        return { ...step, state };
      },
    },
  },
  {
    name: "a reservation stays where it was when the clock is stepped back",
    caughtBy: "G6",
    theme: "reluctant",
    hooks: {
      rules: {
        decideAcquire: (lease, request, facts) => {
          const decision = decideAcquire(lease, request, facts);
          if (decision.kind !== "held" || decision.write === null) return decision;
          return { ...decision, write: { ...decision.write, reservedUntil: lease.reservedUntil } };
        },
      },
    },
  },
  {
    // Harmless to G3, as long as trust counts from the sending; the rule stands on its own.
    name: "a renewal revives a lease that has run out",
    caughtBy: "R4",
    theme: "stalls",
    hooks: {
      rules: {
        decideRenew: (lease, request, facts) => decideRenew({ ...lease, expiresAt: facts.now + 1 }, request, facts),
      },
    },
  },
];

function adopt(role: RoleState, state: ElectorState, since: Term["trust"]["since"], effects: Effect[]): void {
  const { view, term } = role;
  if (term !== null || view === null || view.incarnation !== state.settings.holder.incarnation) return;
  if (role.workEpoch !== null || view.remainingMs <= 0) return;
  const epoch: Epoch = view.epoch;
  const trust = { since, lengthMs: state.settings.timing.fenceMs };
  role.term = {
    epoch,
    phase: "leading",
    trust,
    shutAt: null,
    provenAt: null,
    electedAt: since.mono,
    graceMs: 0,
    unannounced: null,
    drain: null,
  };
  role.workEpoch = epoch;
  effects.push({ kind: "elected", role: role.role, epoch, trust, cause: "expired", gapMs: 0 });
}
