import type { Step } from "../../src/election/core/elector-core.js";
import { draftOf, type ElectorState, type RoleState, type Term } from "../../src/election/core/elector-state.js";
import { gateIsOpen } from "../../src/election/core/leading.js";
import type { Effect, Input } from "../../src/election/core/messages.js";
import type { Epoch } from "../../src/election/core/names.js";
import type { Hooks } from "./hooks.js";
import type { Sabotage } from "./sabotage.js";

/** Electors whose inputs, states, effects or gates are tampered with on their way. */

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

export const sabotagedElectors: readonly Sabotage[] = [
  {
    name: "trust counts from the receipt of the reply",
    caughtBy: "G3",
    theme: "margins",
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
    caughtBy: "heir",
    theme: "ordinary",
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
    name: "the gate does not observe the grace",
    caughtBy: "G3",
    theme: "grace",
    hooks: { gate: (term, _grace, now) => gateIsOpen(term, 0, now.mono, now.wall, () => now.boot) },
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
