import type { ElectorState, Link, PendingRequest } from "./elector-state.js";
import type { Effect, LinkName } from "./messages.js";
import type { Instant } from "./trust.js";

/** What one step works with: a draft of the state, this moment, chance, and the effects it has decided on so far. */
export interface StepContext {
  readonly state: ElectorState;
  readonly now: Instant;
  readonly random: () => number;
  readonly effects: Effect[];
}

/** A moment in [from, to) milliseconds from now, so that nodes which noticed the same thing do not act in step. */
export function soon(ctx: StepContext, fromMs: number, toMs: number): number {
  return ctx.now.mono + fromMs + ctx.random() * (toMs - fromMs);
}

export function newRequest(ctx: StepContext, timeoutMs: number): PendingRequest {
  const id = ctx.state.nextId++;
  return { id, sentAt: ctx.now, deadline: ctx.now.mono + timeoutMs };
}

const firstRetryMs = 50;
const longestRetryMs = 2_000;

/** Errors back off exponentially, capped; the first retry comes at once (R12). */
export function retryLater(ctx: StepContext, link: Link): Link {
  const failures = link.kind === "open" ? 0 : link.failures;
  const waitMs = failures === 0 ? 0 : Math.min(firstRetryMs * 2 ** (failures - 1), longestRetryMs);
  return { kind: "closed", retryAt: soon(ctx, waitMs / 2, waitMs), failures: failures + 1 };
}

export function openLink(ctx: StepContext, name: LinkName, link: Link): Link {
  if (link.kind !== "closed" || link.retryAt > ctx.now.mono) return link;
  ctx.effects.push({ kind: "open", link: name });
  return { kind: "opening", failures: link.failures };
}

/** A connection that is given up on purpose may be opened again at once. */
export function closeLink(ctx: StepContext, name: LinkName, link: Link): Link {
  if (link.kind === "closed") return link;
  ctx.effects.push({ kind: "close", link: name });
  return { kind: "closed", retryAt: 0, failures: 0 };
}
