import type { CampaignRequest, EndReason, PendingRequest, RoleState, Term } from "./elector-state.js";
import { graceMs } from "./elector-state.js";
import type { BeatAnswer, Effect } from "./messages.js";
import type { Epoch, NodeId } from "./names.js";
import { type StepContext, soon } from "./step-context.js";
import { elapsedMs, trustRemainingMs } from "./trust.js";

/** What a leader does: renews, shuts its gate in doubt, gives up in order, and ends when it no longer knows (R4, R5, R9). */

/** A step-down keeps the lease for the node it names for this long, in beats. */
const reserveBeats = 2;
const longestCoolMs = 60_000;

/**
 * The gate: may this node act, at this very call? Compared with the deadline each time, never a flag that a timer must
 * flip: behind a blocked event loop the timer is late, the comparison is not (R5).
 */
export function gateIsOpen(term: Term, grace: number, mono: number, wall: number, readBoot: () => number): boolean {
  if (term.shutAt !== null) return false;
  // The grace too counts through a suspend, in which the monotonic clock stands still.
  if (grace > 0 && (term.provenAt === null || elapsedMs(term.provenAt, mono, wall, readBoot) >= grace)) return false;
  return elapsedMs(term.trust.since, mono, wall, readBoot) < term.trust.lengthMs;
}

export function startTerm(
  ctx: StepContext,
  role: RoleState,
  request: Extract<CampaignRequest, { what: "acquire" }>,
  won: Pick<Extract<Effect, { kind: "elected" }>, "epoch" | "cause" | "gapMs">,
): void {
  const trust = { since: request.sentAt, lengthMs: ctx.state.settings.timing.fenceMs };
  role.term = {
    epoch: won.epoch,
    phase: "leading",
    trust,
    unannounced: { cause: won.cause, gapMs: won.gapMs },
    shutAt: null,
    provenAt: null,
    electedAt: ctx.now.mono,
    graceMs: request.graceMs,
    drain: null,
  };
  // With a grace the gate opens by the first renewal, and work that began before would find it shut.
  if (graceMs(ctx.state) === 0) announceTerm(ctx, role, role.term);
  // The first renewal takes the lock, names the sessions and lets another node become heir: do not wait a beat for it.
  ctx.state.beat.nextAt = ctx.now.mono;
  ctx.state.reap.nextAt = ctx.now.mono;
}

function announceTerm(ctx: StepContext, role: RoleState, term: Term): void {
  if (term.unannounced === null) return;
  const { epoch, trust, unannounced } = term;
  term.unannounced = null;
  role.workEpoch = epoch;
  ctx.effects.push({ kind: "elected", role: role.role, epoch, trust, ...unannounced });
}

export function applyRenewal(ctx: StepContext, role: RoleState, request: PendingRequest, answer: BeatAnswer): void {
  const { term } = role;
  if (term === null || answer.renewal === null) return;
  if (answer.renewal.kind === "lost") {
    endTerm(ctx, role, answer.renewal.reason);
  } else if (answer.renewal.kind === "renewed") {
    term.trust = { since: request.sentAt, lengthMs: ctx.state.settings.timing.fenceMs };
    term.provenAt = request.sentAt;
    if (term.shutAt !== null && request.sentAt.mono > term.shutAt) term.shutAt = null;
    announceTerm(ctx, role, term);
  } else {
    // Another transaction had the row for a moment: a whole beat is too long to wait, above all with the gate shut.
    ctx.state.beat.nextAt = Math.min(ctx.state.beat.nextAt, soon(ctx, 10, 50));
  }
}

/** In doubt the gate shuts, and the term goes on: a renewal sent from now on reopens it with the same epoch. */
export function shutGates(ctx: StepContext): void {
  for (const { term } of ctx.state.roles.values()) {
    if (term === null) continue;
    term.shutAt = ctx.now.mono;
    term.provenAt = null;
  }
}

/** R5: before a step looks at anything else, it ends the terms whose trust has run out. `hold` only shuts the gate (R7). */
export function endUntrusted(ctx: StepContext): void {
  if (ctx.state.settings.terms.onStall === "hold") return;
  for (const role of ctx.state.roles.values()) {
    if (role.term !== null && trustRemainingMs(role.term.trust, ctx.now) <= 0) endTerm(ctx, role, "trust_ran_out");
  }
}

export function beginDrain(
  ctx: StepContext,
  role: RoleState,
  order: {
    readonly to: NodeId | null;
    readonly reason: EndReason;
    readonly drainMs?: number | undefined;
    /** How long it leaves the role to others when it has been given up. */
    readonly yieldMs?: number | undefined;
  },
): void {
  const { term } = role;
  if (term === null || term.phase === "draining") return;
  const { yieldMs = 0 } = order;
  if (term.unannounced !== null) {
    endTerm(ctx, role, order.reason);
    role.yieldsUntil = ctx.now.mono + yieldMs;
    releaseLease(ctx, role, { epoch: term.epoch, to: order.to, reason: order.reason });
    return;
  }
  term.phase = "draining";
  term.drain = {
    to: order.to,
    reason: order.reason,
    deadline: ctx.now.mono + (order.drainMs ?? ctx.state.settings.timing.drainTimeoutMs),
    yieldMs,
  };
  ctx.effects.push({ kind: "draining", role: role.role, epoch: term.epoch, reason: order.reason });
}

/** R9: if the drain overruns there is no early release. The work may still run, so the lease has to lapse. */
export function endOverrun(ctx: StepContext): void {
  for (const role of ctx.state.roles.values()) {
    const drain = role.term?.drain;
    if (drain && drain.deadline <= ctx.now.mono) {
      endTerm(ctx, role, "drain_overrun");
      role.yieldsUntil = ctx.now.mono + drain.yieldMs;
    }
  }
}

/** The work of a term has ended: a draining term is released, and the node is fit to lead again. */
export function settleWork(ctx: StepContext, role: RoleState, epoch: Epoch): void {
  if (role.workEpoch === epoch) role.workEpoch = null;
  const { term } = role;
  if (term === null || term.epoch !== epoch || term.drain === null) return;
  const { to, reason, yieldMs } = term.drain;
  // The gate is shut before the release is sent: once the database has it, another node may act.
  endTerm(ctx, role, reason);
  role.yieldsUntil = ctx.now.mono + yieldMs;
  releaseLease(ctx, role, { epoch, to, reason });
}

/** R10: work that fails gives the role up and keeps off it for a while, longer each time. */
export function failWork(ctx: StepContext, role: RoleState, epoch: Epoch): void {
  if (role.term === null || role.term.epoch !== epoch) return;
  const { ttlMs } = ctx.state.settings.timing;
  const lasted = ctx.now.mono - role.term.electedAt;
  role.failures = lasted > longestCoolMs ? 1 : role.failures + 1;
  role.coolUntil = ctx.now.mono + Math.min(ttlMs * 2 ** (role.failures - 1), longestCoolMs);
  beginDrain(ctx, role, { to: null, reason: "work_failed" });
}

export function releaseLease(
  ctx: StepContext,
  role: RoleState,
  order: { readonly epoch: Epoch; readonly to: NodeId | null; readonly reason: EndReason },
): void {
  if (ctx.state.lock.kind !== "open") return;
  const reserveMs = ctx.state.settings.timing.heartbeatMs * reserveBeats;
  const { epoch, to, reason } = order;
  ctx.effects.push({ kind: "release", role: role.role, epoch, to, reason, reserveMs, dropLock: role.holdsLock });
  role.holdsLock = false;
}

export function endAll(ctx: StepContext): void {
  for (const role of ctx.state.roles.values()) endTerm(ctx, role, "draining");
}

function endTerm(ctx: StepContext, role: RoleState, reason: EndReason): void {
  const { term } = role;
  if (term === null) return;
  role.term = null;
  if (term.unannounced === null) ctx.effects.push({ kind: "ended", role: role.role, epoch: term.epoch, reason });
}

/** With a grace, the lock session has to answer more often than it beats. */
export function pulseIntervalMs(ctx: StepContext): number | null {
  const grace = graceMs(ctx.state);
  if (grace === 0) return null;
  const leads = [...ctx.state.roles.values()].some((role) => role.term !== null);
  return leads ? grace / 4 : null;
}
