import type { Backoff } from "../queue/core/backoff.js";

/** What jobs are like that do not say otherwise, and how their leader treats them. */
export interface JobSettings {
  readonly maxAttempts: number;
  readonly timeoutMs: number;
  readonly backoff: Backoff;
  /** How long an agent may be silent before its tasks go to another. */
  readonly leaseTtlMs: number;
  /** How long a leader that gives its role up still takes results. */
  readonly drainGraceMs: number;
}

/** How long an agent may be silent before it is shown as stale, and as dead. An agent beats every 15 s unless told otherwise. */
export const agentSilence = { staleMs: 45_000, deadMs: 120_000 } as const;

const longestBackoffMs = 300_000;

/** What a leader needs after the grace, to let go of its own work and to give the role up. */
const givingUpMs = 2_000;

/** From the settings of the node. */
export function jobSettingsOf(config: {
  readonly jobs: {
    readonly maxAttempts: number;
    readonly drainGraceSeconds: number;
    readonly backoff: { readonly ms: number };
    readonly timeout: { readonly ms: number };
  };
  readonly store: { readonly leaseTtlSeconds: number };
  readonly timing: { readonly drainTimeoutMs: number };
}): JobSettings {
  const { jobs, store } = config;
  return {
    maxAttempts: jobs.maxAttempts,
    timeoutMs: jobs.timeout.ms,
    backoff: { firstMs: jobs.backoff.ms, capMs: longestBackoffMs },
    leaseTtlMs: store.leaseTtlSeconds * 1_000,
    drainGraceMs: drainGraceMsOf(config),
  };
}

/**
 * A grace as long as the drain, or longer, would have every handover overrun while anything is leased: the lease would have to lapse, and
 * whoever asked for the handover would hear that it failed.
 */
export function drainGraceMsOf(config: {
  readonly jobs: { readonly drainGraceSeconds: number };
  readonly timing: { readonly drainTimeoutMs: number };
}): number {
  const longestMs = Math.max(0, config.timing.drainTimeoutMs - givingUpMs);
  return Math.min(config.jobs.drainGraceSeconds * 1_000, longestMs);
}
