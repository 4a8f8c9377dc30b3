import { mayLead, planCampaign, sessionsOf } from "./campaigning.js";
import type { RoleState } from "./elector-state.js";
import { pulseIntervalMs } from "./leading.js";
import type { BeatOrder } from "./messages.js";
import { nextWake } from "./schedule.js";
import { newRequest, openLink, type StepContext, soon } from "./step-context.js";
import { beatJitter } from "./timing.js";
import { trustRemainingMs } from "./trust.js";

/** In node timeouts. Rare, so that an idle standby still costs hardly more than its beats. */
const idleReapInterval = 4;

/** Whatever is due and not under way is sent, and the next wake-up is set. */
export function plan(ctx: StepContext): void {
  const { state } = ctx;
  state.lock = openLink(ctx, { kind: "lock" }, state.lock);
  if (state.lock.kind === "open" && state.path !== "pooled") {
    state.witness = openLink(ctx, { kind: "witness" }, state.witness);
  }
  for (const role of state.roles.values()) planCampaign(ctx, role);
  planBeat(ctx);
  planPulse(ctx);
  planReap(ctx);
  ctx.effects.push({ kind: "wake", at: nextWake(ctx) });
}

function planBeat(ctx: StepContext): void {
  const { state, now } = ctx;
  if (state.lock.kind !== "open" || state.beat.request !== null || state.beat.nextAt > now.mono) return;
  const { heartbeatMs } = state.settings.timing;
  const request = newRequest(ctx, requestTimeoutMs(ctx));
  state.beat = { request, nextAt: soon(ctx, heartbeatMs * (1 - beatJitter), heartbeatMs * (1 + beatJitter)) };
  const orders = [...state.roles.values()].map((role) => orderFor(ctx, role));
  const timeoutMs = request.deadline - now.mono;
  ctx.effects.push({ kind: "beat", id: request.id, orders, sessions: sessionsOf(ctx), timeoutMs });
}

/** R5: a request is given up before the trust that depends on it has run out. */
function requestTimeoutMs(ctx: StepContext): number {
  let timeoutMs = ctx.state.settings.timing.requestTimeoutMs;
  for (const { term } of ctx.state.roles.values()) {
    if (term === null) continue;
    const remainingMs = trustRemainingMs(term.trust, ctx.now);
    if (remainingMs > 0) timeoutMs = Math.min(timeoutMs, Math.max(remainingMs - 1, 1));
  }
  return timeoutMs;
}

function orderFor(ctx: StepContext, role: RoleState): BeatOrder {
  const locks = ctx.state.path !== "pooled";
  const leads = role.term !== null;
  // R10: a node that is to wait before it leads must not be the one that takes over first.
  const wantsHeir = locks && ctx.state.settings.timing.acquireDelayMs === 0 && mayLead(ctx, role);
  return {
    role: role.role,
    renew: role.term?.epoch ?? null,
    lock: leads && locks && !role.holdsLock ? "take" : !leads && role.holdsLock ? "drop" : null,
    heir: wantsHeir && !role.isHeir ? "take" : !wantsHeir && role.isHeir ? "drop" : null,
  };
}

function planPulse(ctx: StepContext): void {
  const { state, now } = ctx;
  const intervalMs = pulseIntervalMs(ctx);
  if (intervalMs === null || state.lock.kind !== "open") return;
  if (state.pulse.request !== null || state.pulse.nextAt > now.mono) return;
  const request = newRequest(ctx, requestTimeoutMs(ctx));
  state.pulse = { request, nextAt: now.mono + intervalMs };
  ctx.effects.push({ kind: "pulse", id: request.id, timeoutMs: request.deadline - now.mono });
}

/** A leader ends what frozen nodes still hold, once a node timeout; a standby only makes sure that its witness lives. */
function planReap(ctx: StepContext): void {
  const { state, now } = ctx;
  if (state.path === "pooled" || state.witness.kind !== "open") return;
  if (state.reap.request !== null || state.reap.nextAt > now.mono) return;
  const { nodeTimeoutMs, requestTimeoutMs } = state.settings.timing;
  const roles = [...state.roles.values()].filter((role) => role.term !== null).map((role) => role.role);
  const request = newRequest(ctx, requestTimeoutMs);
  state.reap = { request, nextAt: now.mono + nodeTimeoutMs * (roles.length > 0 ? 1 : idleReapInterval) };
  ctx.effects.push({ kind: "reap", id: request.id, roles });
}
