import { keepsOffUntil, mayLead, waitsForLock } from "./campaigning.js";
import { type Link, leaseRemainingMs, type RoleState } from "./elector-state.js";
import { pulseIntervalMs } from "./leading.js";
import type { StepContext } from "./step-context.js";
import { trustRemainingMs } from "./trust.js";

/** The next moment at which something is due, if nothing happens before. Everything in the past has been planned already. */
export function nextWake(ctx: StepContext): number {
  const { state } = ctx;
  const moments: number[] = [];
  addLink(moments, state.lock);
  if (state.lock.kind === "open") {
    // Behind a pooler no witness is ever opened, so there is nothing to wake up for.
    if (state.path !== "pooled") addLink(moments, state.witness);
    if (state.beat.request === null) moments.push(state.beat.nextAt);
    if (pulseIntervalMs(ctx) !== null && state.pulse.request === null) moments.push(state.pulse.nextAt);
  }
  if (state.witness.kind === "open") moments.push(state.reap.request?.deadline ?? state.reap.nextAt);
  if (state.beat.request !== null) moments.push(state.beat.request.deadline);
  if (state.pulse.request !== null) moments.push(state.pulse.request.deadline);
  for (const role of state.roles.values()) addRole(ctx, role, moments);
  return Math.max(Math.min(...moments, ctx.now.mono + state.settings.timing.heartbeatMs), ctx.now.mono);
}

function addLink(moments: number[], link: Link): void {
  if (link.kind === "closed") moments.push(link.retryAt);
}

function addRole(ctx: StepContext, role: RoleState, moments: number[]): void {
  const { term, campaign } = role;
  if (term !== null) {
    if (ctx.state.settings.terms.onStall === "depose") {
      moments.push(ctx.now.mono + Math.max(0, trustRemainingMs(term.trust, ctx.now)));
    }
    if (term.drain !== null) moments.push(term.drain.deadline);
    return;
  }
  if (campaign.request !== null) {
    moments.push(campaign.request.deadline);
    return;
  }
  if (!mayLead(ctx, role)) {
    if (keepsOffUntil(role) > ctx.now.mono) moments.push(keepsOffUntil(role));
    return;
  }
  const attempting = campaign.attemptAt !== null;
  if (attempting || role.isHeir) {
    // While the link is being opened there is nothing to wake up for: its end or its opening is an input.
    if (campaign.link.kind === "closed") {
      moments.push(role.isHeir ? campaign.link.retryAt : Math.max(campaign.link.retryAt, campaign.attemptAt ?? 0));
    } else if (campaign.link.kind === "opening") return;
    else if (campaign.attemptAt !== null) moments.push(campaign.attemptAt);
    else if (waitsForLock(ctx, role)) moments.push(campaign.waitAt);
  }
  if (!attempting) moments.push(ctx.now.mono + Math.max(0, leaseRemainingMs(role, ctx.now)));
}
