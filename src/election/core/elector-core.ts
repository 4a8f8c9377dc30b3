import { onAcquireReply, onCampaignLost, onNotice, onWaitReply, see } from "./campaigning.js";
import { draftOf, type ElectorState, initialRole, type RoleState } from "./elector-state.js";
import {
  applyRenewal,
  beginDrain,
  endAll,
  endOverrun,
  endUntrusted,
  failWork,
  releaseLease,
  settleWork,
  shutGates,
} from "./leading.js";
import type { BeatReply, Effect, Input, LinkName } from "./messages.js";
import type { Role } from "./names.js";
import { plan } from "./planning.js";
import { retryLater, type StepContext } from "./step-context.js";
import type { Instant } from "./trust.js";

/**
 * The elector: everything a node decides about its roles, without a clock, a socket or a timer of its own.
 *
 * `step` takes what happened and answers with the new state and with what is to be done about it. It first ends what can
 * no longer be trusted, then takes the input in, then plans: whatever is due and not under way is sent. The runtime
 * carries the effects out against PostgreSQL; the simulator does the same against a database in memory.
 */
export interface Step {
  readonly state: ElectorState;
  readonly effects: readonly Effect[];
}

export function step(previous: ElectorState, input: Input, now: Instant, random: () => number): Step {
  const ctx: StepContext = { state: draftOf(previous), now, random, effects: [] };
  endUntrusted(ctx);
  take(ctx, input);
  giveUpLate(ctx);
  endOverrun(ctx);
  plan(ctx);
  return { state: ctx.state, effects: ctx.effects };
}

function take(ctx: StepContext, input: Input): void {
  switch (input.kind) {
    case "tick":
      return;
    case "contend":
      if (!ctx.state.roles.has(input.role)) {
        ctx.state.roles.set(input.role, initialRole(input.role));
        ctx.state.beat.nextAt = ctx.now.mono;
      }
      return;
    case "opened":
      return onOpened(ctx, input);
    case "closed":
      return onClosed(ctx, input.link);
    case "failed":
      return onFailed(ctx, input.link, input.id);
    case "beatReplied":
      return onBeatReply(ctx, input.id, input.reply);
    case "pulseReplied":
      return onPulseReply(ctx, input.id);
    case "reapReplied":
      if (ctx.state.reap.request?.id === input.id) ctx.state.reap.request = null;
      return;
    case "waitReplied":
      return ifCurrent(ctx, input, (role) => onWaitReply(ctx, role, input.reply));
    case "acquireReplied":
      return ifCurrent(ctx, input, (role) => onAcquireReply(ctx, role, input.reply));
    case "noticed":
      return withRole(ctx, input.role, (role) => onNotice(ctx, role, input.notice));
    case "stepDown":
      return withRole(ctx, input.role, (role) => beginDrain(ctx, role, input));
    case "workSettled":
      return withRole(ctx, input.role, (role) => settleWork(ctx, role, input.epoch));
    case "workFailed":
      return withRole(ctx, input.role, (role) => failWork(ctx, role, input.epoch));
    case "halt":
      ctx.state.contending = false;
      return endAll(ctx);
    case "candidacy":
      ctx.state.contending = input.on;
      if (!input.on) {
        const order = { to: null, reason: "draining", drainMs: input.drainMs } as const;
        for (const role of ctx.state.roles.values()) beginDrain(ctx, role, order);
      }
  }
}

function withRole(ctx: StepContext, name: Role, act: (role: RoleState) => void): void {
  const role = ctx.state.roles.get(name);
  if (role !== undefined) act(role);
}

/** A reply counts only for the request that this campaign still waits for. */
function ifCurrent(ctx: StepContext, input: { role: Role; id: number }, act: (role: RoleState) => void): void {
  withRole(ctx, input.role, (role) => {
    if (role.campaign.request?.id === input.id) act(role);
  });
}

function onOpened(ctx: StepContext, input: Extract<Input, { kind: "opened" }>): void {
  const { state } = ctx;
  const link = { kind: "open", ref: input.ref } as const;
  switch (input.link.kind) {
    case "lock":
      state.lock = link;
      state.path = input.path;
      state.beat.nextAt = ctx.now.mono;
      return;
    case "witness":
      state.witness = link;
      state.reap.nextAt = ctx.now.mono + state.settings.timing.nodeTimeoutMs;
      // The row must name this session before its end can mean anything.
      state.beat.nextAt = ctx.now.mono;
      return;
    case "campaign":
      withRole(ctx, input.link.role, (role) => {
        role.campaign.link = link;
      });
  }
}

function onClosed(ctx: StepContext, link: LinkName): void {
  const { state } = ctx;
  switch (link.kind) {
    case "lock":
      shutGates(ctx);
      state.lock = retryLater(ctx, state.lock);
      state.beat.request = null;
      state.pulse.request = null;
      for (const role of state.roles.values()) {
        role.holdsLock = false;
        role.isHeir = false;
      }
      return;
    case "witness":
      shutGates(ctx);
      state.witness = retryLater(ctx, state.witness);
      state.reap.request = null;
      state.beat.nextAt = ctx.now.mono;
      return;
    case "campaign":
      withRole(ctx, link.role, (role) => onCampaignLost(ctx, role));
  }
}

/** After a failed request a session is not reused: what it still carries out can no longer be told (R5). */
function onFailed(ctx: StepContext, link: LinkName, id: number): void {
  if (!isPending(ctx, link, id)) return;
  onClosed(ctx, link);
  ctx.effects.push({ kind: "close", link });
}

function isPending(ctx: StepContext, link: LinkName, id: number): boolean {
  if (link.kind === "campaign") return ctx.state.roles.get(link.role)?.campaign.request?.id === id;
  if (link.kind === "witness") return ctx.state.reap.request?.id === id;
  return ctx.state.beat.request?.id === id || ctx.state.pulse.request?.id === id;
}

/** A request past its deadline has failed, whether or not a reply still comes. */
function giveUpLate(ctx: StepContext): void {
  const { state, now } = ctx;
  for (const request of [state.beat.request, state.pulse.request]) {
    if (request !== null && request.deadline <= now.mono) onFailed(ctx, { kind: "lock" }, request.id);
  }
  const { request: reap } = state.reap;
  if (reap !== null && reap.deadline <= now.mono) onFailed(ctx, { kind: "witness" }, reap.id);
  for (const role of state.roles.values()) {
    const { request } = role.campaign;
    if (request !== null && request.deadline <= now.mono) {
      onFailed(ctx, { kind: "campaign", role: role.role }, request.id);
    }
  }
}

function onBeatReply(ctx: StepContext, id: number, reply: BeatReply): void {
  const { request } = ctx.state.beat;
  if (request === null || request.id !== id) return;
  ctx.state.beat.request = null;
  for (const answer of reply.answers) {
    withRole(ctx, answer.role, (role) => {
      if (answer.holdsLock !== null) role.holdsLock = answer.holdsLock;
      if (answer.isHeir !== null) becomeHeir(role, answer.isHeir);
      applyRenewal(ctx, role, request, answer);
    });
  }
  for (const view of reply.leases) {
    withRole(ctx, view.role, (role) => {
      if (request.sentAt.mono < role.noticedAt) return;
      see(ctx, role, view);
      releaseOrphan(ctx, role);
    });
  }
}

/**
 * The heir asks at once where others hang back, so what was put off before is decided anew. But where the lock has come
 * already, the attempt belongs to it: without one, the campaign would keep the lock and never ask.
 */
function becomeHeir(role: RoleState, isHeir: boolean): void {
  const { campaign } = role;
  if (isHeir && !role.isHeir && campaign.request === null && !campaign.locked) campaign.attemptAt = null;
  role.isHeir = isHeir;
}

/**
 * R3: a lease of this very process without a live term came from an acquire whose reply was lost, or outlived its trust.
 * It is never adopted; it is given back by its exact epoch, once no work of it can still run.
 */
function releaseOrphan(ctx: StepContext, role: RoleState): void {
  const { view } = role;
  const mine = view !== null && view.incarnation === ctx.state.settings.holder.incarnation;
  const asking = role.campaign.request?.what === "acquire";
  if (!mine || role.term !== null || role.workEpoch !== null || asking || view.remainingMs <= 0) return;
  releaseLease(ctx, role, { epoch: view.epoch, to: null, reason: "trust_ran_out" });
}

function onPulseReply(ctx: StepContext, id: number): void {
  const { request } = ctx.state.pulse;
  if (request === null || request.id !== id) return;
  ctx.state.pulse.request = null;
  for (const { term } of ctx.state.roles.values()) {
    if (term === null || term.provenAt === null) continue;
    if (request.sentAt.mono > term.provenAt.mono) term.provenAt = request.sentAt;
  }
}
