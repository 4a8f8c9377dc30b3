import { HoldfastError } from "../../errors.js";

/** The timings of an election, as the operator chose them. All in milliseconds. */
export interface TimingSettings {
  readonly heartbeatMs: number;
  /** How long a leader trusts a confirmed renewal, from its sending. */
  readonly fenceMs: number;
  readonly ttlMs: number;
  readonly nodeTimeoutMs: number;
  readonly acquireDelayMs: number;
  readonly evidenceGraceMs: number;
  readonly drainTimeoutMs: number;
}

export interface Timing extends TimingSettings {
  /** A request that takes longer is given up, and its session with it. */
  readonly requestTimeoutMs: number;
  /** The heir waits for the lock in slices of this length: a longer wait would pin the vacuum horizon (R6). */
  readonly heirSliceMs: number;
}

/** Beats are spread by this share of the interval, so that nodes do not beat in step. */
export const beatJitter = 0.2;
/** The largest difference in rate between a node's clock and the database's that the margin covers. */
export const clockRateError = 0.01;
/** A cool loop still needs some time to notice that its trust has run out. */
export const slackMs = 20;
/** A request gets at least this long; shorter ones would time out on an ordinary fsync. */
const shortestRequestMs = 100;

/** Checks heartbeat < fence < TTL with the margins that make them mean something (R5), and derives the rest. */
export function deriveTiming(settings: TimingSettings): Timing {
  const { heartbeatMs, fenceMs, ttlMs, nodeTimeoutMs, evidenceGraceMs } = settings;
  if (fenceMs >= ttlMs) {
    refuse(
      `leader_fence_timeout_seconds (${seconds(fenceMs)}) must be below leader_lease_ttl_seconds (${seconds(ttlMs)}): ` +
        "a leader has to stop before its lease can go to another",
    );
  }
  if (heartbeatMs >= fenceMs) {
    refuse(
      `heartbeat_seconds (${seconds(heartbeatMs)}) must be below leader_fence_timeout_seconds (${seconds(fenceMs)}): ` +
        "a leader that renews later than it trusts never leads",
    );
  }
  const trustWorstMs = fenceMs * (1 + clockRateError) + slackMs;
  const leaseWorstMs = ttlMs * (1 - clockRateError);
  if (trustWorstMs > leaseWorstMs) {
    const needed = (trustWorstMs / (1 - clockRateError)).toFixed(0);
    refuse(
      `leader_lease_ttl_seconds (${seconds(ttlMs)}) leaves too small a margin above leader_fence_timeout_seconds ` +
        `(${seconds(fenceMs)}) for clocks that differ by 1 %: raise it to at least ${seconds(Number(needed))}`,
    );
  }
  const latestBeatMs = heartbeatMs * (1 + beatJitter);
  const requestTimeoutMs = Math.min((fenceMs - latestBeatMs) / 2, 5_000);
  if (requestTimeoutMs < shortestRequestMs) {
    refuse(
      `heartbeat_seconds (${seconds(heartbeatMs)}, jittered by 20 %) leaves too small a margin below ` +
        `leader_fence_timeout_seconds (${seconds(fenceMs)}) for a renewal and one retry: raise the fence timeout to at ` +
        `least ${seconds(Math.ceil(latestBeatMs + 2 * shortestRequestMs))}`,
    );
  }
  if (nodeTimeoutMs <= heartbeatMs) {
    refuse(
      `node_timeout_seconds (${seconds(nodeTimeoutMs)}) must be above heartbeat_seconds (${seconds(heartbeatMs)}): ` +
        "a healthy node would be called dead between two beats",
    );
  }
  if (evidenceGraceMs > 0 && evidenceGraceMs < shortestRequestMs) {
    refuse(`evidence_grace (${evidenceGraceMs}ms) must be 0ms or at least ${shortestRequestMs}ms`);
  }
  if (evidenceGraceMs >= fenceMs) {
    refuse(
      `evidence_grace (${evidenceGraceMs}ms) must be below leader_fence_timeout_seconds (${seconds(fenceMs)}): ` +
        'a longer grace gains nothing over takeover = "lease"',
    );
  }
  return { ...settings, requestTimeoutMs, heirSliceMs: 900 };
}

function seconds(ms: number): string {
  return `${ms / 1000}`;
}

function refuse(message: string): never {
  throw new HoldfastError("BAD_SETTINGS", `cluster: ${message}.`);
}
