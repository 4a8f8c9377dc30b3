import type { CampaignRequest, RoleState } from "./elector-state.js";
import { graceMs, idleCampaign, leaseRemainingMs } from "./elector-state.js";
import { releaseLease, startTerm } from "./leading.js";
import type { LeaseTerms, LeaseView, NodeSessions } from "./lease.js";
import type { AcquireReply, LinkName, Notice, WaitReply } from "./messages.js";
import { closeLink, newRequest, openLink, retryLater, type StepContext, soon } from "./step-context.js";
import { clockRateError, slackMs } from "./timing.js";
import { trustRemainingMs } from "./trust.js";

/**
 * What a standby does about one role. The heir waits for the leader's lock, and asks for the lease the moment it comes;
 * everybody else watches the lease and asks when it is open, a little later than the heir would.
 */

/** How long the sessions of a dead process may be seen lingering before the evidence is dropped. */
const lingerMs = 400;
const lingerLookMs = { from: 1, to: 3 };
/** Acquisition retries are spread over this range, so that standbys do not collide (R12). */
const retryMs = { from: 200, to: 800 };

const linkOf = (role: RoleState): LinkName => ({ kind: "campaign", role: role.role });

/** Whether this node may lead the role now (R10). Such a node may also be its heir. */
export function mayLead(ctx: StepContext, role: RoleState, invited = isInvited(ctx, role)): boolean {
  const { state, now } = ctx;
  return (
    state.contending &&
    (state.settings.promotable || invited) &&
    role.term === null &&
    role.workEpoch === null &&
    (invited || keepsOffUntil(role) <= now.mono) &&
    state.lock.kind === "open" &&
    (state.path === "pooled" || state.witness.kind === "open")
  );
}

/** A step-down has named this node. */
function isInvited({ state }: StepContext, { view }: RoleState): boolean {
  return view?.reservedFor === state.settings.holder.nodeId;
}

/** Until when this node does not ask for the role by itself. */
export function keepsOffUntil({ coolUntil, yieldsUntil }: RoleState): number {
  return Math.max(coolUntil, yieldsUntil);
}

/** Decides the next thing to do about the role, if it is due and nothing is under way. */
export function planCampaign(ctx: StepContext, role: RoleState): void {
  const { campaign } = role;
  if (!mayLead(ctx, role) || role.view === null) {
    if (campaign.request === null || role.term !== null) stopCampaign(ctx, role);
    return;
  }
  if (!campaign.locked && isOpenToAsk(ctx, role)) campaign.attemptAt ??= firstAttemptAt(ctx, role);
  const attempting = campaign.attemptAt !== null;
  if (!attempting && !role.isHeir) {
    if (campaign.request === null) stopCampaign(ctx, role);
    return;
  }
  // Only the heir keeps a session ready. Were the others to open one each when they hear of a release, a crowd would fall
  // over the server at the very moment of the hand-over; most of them will hear of the successor first.
  const isDue = campaign.attemptAt !== null && campaign.attemptAt <= ctx.now.mono;
  if (role.isHeir || isDue) campaign.link = openLink(ctx, linkOf(role), campaign.link);
  if (campaign.link.kind !== "open" || campaign.request !== null) return;
  if (campaign.attemptAt !== null) {
    if (campaign.attemptAt <= ctx.now.mono) ask(ctx, role);
  } else if (waitsForLock(ctx, role) && campaign.waitAt <= ctx.now.mono) {
    waitForLock(ctx, role);
  }
}

export function waitsForLock(ctx: StepContext, role: RoleState): boolean {
  const { state } = ctx;
  const byEvidence = state.settings.terms.takeover === "evidence" && role.view?.takeover === "evidence";
  return role.isHeir && state.path !== "pooled" && byEvidence && role.campaign.attemptAt === null;
}

/** The lease has run out, is free, or must be looked at: stamped by another database, or beyond its TTL by a clock step. */
function isOpenToAsk(ctx: StepContext, role: RoleState): boolean {
  const { view } = role;
  if (view === null) return false;
  return view.isForeign || view.remainingMs > view.ttlMs + 1 || leaseRemainingMs(role, ctx.now) <= 0;
}

function firstAttemptAt(ctx: StepContext, role: RoleState): number {
  const { acquireDelayMs } = ctx.state.settings.timing;
  if (isInvited(ctx, role)) return ctx.now.mono;
  return (role.isHeir ? ctx.now.mono : soon(ctx, retryMs.from, retryMs.to)) + acquireDelayMs;
}

function ask(ctx: StepContext, role: RoleState): void {
  const { campaign } = role;
  const { settings } = ctx.state;
  const timeoutMs = settings.timing.requestTimeoutMs;
  const request = newRequest(ctx, timeoutMs);
  campaign.request = { ...request, what: "acquire", graceMs: graceMs(ctx.state), invited: isInvited(ctx, role) };
  const evidence =
    campaign.locked && campaign.sighting !== null
      ? { sighting: campaign.sighting, graceServedMs: graceServedMs(ctx, role) }
      : null;
  const terms: LeaseTerms = { ...settings.terms, evidenceGraceMs: graceMs(ctx.state) };
  const sessions: NodeSessions = sessionsOf(ctx);
  const { acquireDelayMs } = settings.timing;
  ctx.effects.push({
    kind: "acquire",
    role: role.role,
    id: request.id,
    terms,
    sessions,
    evidence,
    acquireDelayMs,
    timeoutMs,
  });
}

/**
 * The sessions whose end tells a crash. A leader that has come to need more grace than its rows ask of an heir, because it
 * reconnected through a proxy, names no witness: then there is no evidence, and its leases decide.
 */
export function sessionsOf(ctx: StepContext): NodeSessions {
  const { lock, witness, roles } = ctx.state;
  const grace = graceMs(ctx.state);
  const isCovered = [...roles.values()].every(({ term }) => term === null || term.graceMs >= grace);
  return {
    lock: lock.kind === "open" ? lock.ref : null,
    witness: witness.kind === "open" && isCovered ? witness.ref : null,
  };
}

/**
 * The grace runs on two clocks: the heir's may be fast while the leader's is slow, and after a suspend the leader's counts
 * in hundredths of a second. So the heir counts less than its clock says.
 */
const graceRate = 1 - 2 * clockRateError;

function graceServedMs(ctx: StepContext, role: RoleState): number {
  const { confirmedAt } = role.campaign;
  return confirmedAt === null ? 0 : Math.max(0, (ctx.now.mono - confirmedAt) * graceRate - slackMs);
}

function waitForLock(ctx: StepContext, role: RoleState): void {
  const { campaign } = role;
  const { timing } = ctx.state.settings;
  // A slice ends when the lease does: a frozen leader keeps its lock, and the lease decides (R7).
  const sliceMs = Math.ceil(Math.min(timing.heirSliceMs, Math.max(20, leaseRemainingMs(role, ctx.now))));
  const timeoutMs = sliceMs + timing.requestTimeoutMs;
  const request = newRequest(ctx, timeoutMs);
  campaign.request = { ...request, what: "wait" };
  ctx.effects.push({ kind: "wait", role: role.role, id: request.id, prior: campaign.sighting, sliceMs, timeoutMs });
}

/** With nobody holding the lock there is nothing to wait for: look again in a fraction of a beat. */
function nextLookAt(ctx: StepContext): number {
  const { heartbeatMs } = ctx.state.settings.timing;
  return soon(ctx, heartbeatMs * 0.2, heartbeatMs * 0.4);
}

export function onWaitReply(ctx: StepContext, role: RoleState, reply: WaitReply): void {
  const { campaign } = role;
  campaign.request = null;
  switch (reply.kind) {
    case "timeout":
      campaign.sighting = reply.sighting;
      return;
    case "unheld":
      campaign.sighting = null;
      campaign.waitAt = nextLookAt(ctx);
      return;
    case "locked":
      campaign.sighting = reply.sighting;
      campaign.locked = true;
      campaign.confirmedAt = null;
      campaign.lingerUntil = ctx.now.mono + lingerMs;
      campaign.attemptAt = ctx.now.mono;
  }
}

export function onAcquireReply(ctx: StepContext, role: RoleState, reply: AcquireReply): void {
  const { campaign } = role;
  const { request } = campaign;
  if (request?.what !== "acquire") return;
  campaign.request = null;
  campaign.attemptAt = null;
  switch (reply.kind) {
    case "lingering":
      // By when it asked: whoever stood still until the answer has not looked since.
      if (request.sentAt.mono < campaign.lingerUntil) {
        campaign.attemptAt = soon(ctx, lingerLookMs.from, lingerLookMs.to);
      } else {
        ctx.effects.push({ kind: "evidenceRefused", role: role.role, reason: "lingering" });
        stopCampaign(ctx, role); // Its end gives the lock back.
        campaign.waitAt = soon(ctx, retryMs.from, retryMs.to);
      }
      return;
    case "grace":
      campaign.confirmedAt ??= ctx.now.mono;
      campaign.attemptAt = ctx.now.mono + Math.ceil((reply.waitMs + slackMs) / graceRate);
      return;
    case "blocked":
      campaign.attemptAt = soon(ctx, retryMs.from, retryMs.to);
      return;
    default:
      // Every other answer has given the lock back, if it was there: what it proved is used up. A campaign that asked too
      // early, by an old view of the lease, keeps what it saw: the leader may crash at this very moment.
      if (campaign.locked) campaign.sighting = null;
      campaign.locked = false;
      onDecided(ctx, role, reply, request);
  }
}

function onDecided(
  ctx: StepContext,
  role: RoleState,
  reply: Exclude<AcquireReply, { kind: "lingering" | "grace" | "blocked" }>,
  request: Extract<CampaignRequest, { what: "acquire" }>,
): void {
  const { campaign } = role;
  switch (reply.kind) {
    case "acquired": {
      // By what was known when it asked: a view since then, or this one, hides an invitation.
      const fit = mayLead(ctx, role, request.invited);
      see(ctx, role, reply.view);
      const trust = { since: request.sentAt, lengthMs: ctx.state.settings.timing.fenceMs };
      if (fit && trustRemainingMs(trust, ctx.now) > 0) {
        startTerm(ctx, role, request, reply);
      } else {
        releaseLease(ctx, role, { epoch: reply.epoch, to: null, reason: "trust_ran_out" });
      }
      return;
    }
    case "void":
      ctx.effects.push({ kind: "evidenceRefused", role: role.role, reason: reply.reason });
      see(ctx, role, reply.view);
      campaign.waitAt = nextLookAt(ctx);
      return;
    case "held":
      see(ctx, role, reply.view);
      // The lease may be open to others and not yet to this node, by its acquire delay.
      if (isOpenToAsk(ctx, role)) campaign.attemptAt = ctx.now.mono + reply.remainingMs;
      return;
    case "quarantined":
      see(ctx, role, reply.view);
      return;
    case "reserved":
      campaign.attemptAt = soon(ctx, reply.remainingMs, reply.remainingMs + retryMs.from);
      return;
    case "stalled":
      campaign.attemptAt = soon(ctx, retryMs.from, retryMs.to);
  }
}

/** A lost request leaves its outcome unknown. The session is given up; if the lease came all the same, a beat will show it. */
export function onCampaignLost(ctx: StepContext, role: RoleState): void {
  const link = retryLater(ctx, role.campaign.link);
  const { attemptAt } = role.campaign;
  role.campaign = { ...idleCampaign, link, attemptAt: attemptAt === null ? null : soon(ctx, retryMs.from, retryMs.to) };
}

export function onNotice(ctx: StepContext, role: RoleState, notice: Notice): void {
  const { view } = role;
  if (view === null || role.term !== null || notice.epoch < view.epoch) return;
  if (notice.kind === "released" && notice.epoch === view.epoch) {
    role.noticedAt = ctx.now.mono;
    see(ctx, role, {
      ...view,
      holder: null,
      incarnation: null,
      holderUrl: null,
      remainingMs: 0,
      reservedFor: notice.to,
    });
    return;
  }
  // A new leader needs a new heir: look soon, but not all at the same moment.
  const { heartbeatMs } = ctx.state.settings.timing;
  ctx.state.beat.nextAt = Math.min(ctx.state.beat.nextAt, soon(ctx, 0, heartbeatMs / 10));
}

/** Takes in what the database showed of a lease. A reply that was overtaken shows an older epoch, and is passed over. */
export function see(ctx: StepContext, role: RoleState, view: LeaseView): void {
  const known = role.view;
  if (known !== null && view.epoch < known.epoch && !view.isForeign) return;
  role.view = view;
  role.viewAt = ctx.now.mono;
  if (known !== null && view.epoch > known.epoch) role.yieldsUntil = 0;
  const sameLeader = known !== null && known.epoch === view.epoch && known.holder === view.holder;
  if (!sameLeader) ctx.effects.push({ kind: "changed", role: role.role, view });
  const open = isOpenToAsk(ctx, role);
  if (!open && !role.campaign.locked && role.campaign.request?.what !== "acquire") role.campaign.attemptAt = null;
}

/** Gives up the campaign's session, and with it the lock and whatever it saw. */
function stopCampaign(ctx: StepContext, role: RoleState): void {
  const link = closeLink(ctx, linkOf(role), role.campaign.link);
  role.campaign = { ...idleCampaign, link };
}
