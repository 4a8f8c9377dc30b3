import type { LeaseView } from "../election/core/lease.js";
import type { ErrorCode } from "../errors.js";
import type { MemberCounts } from "./node-row.js";

/** Where a node stands for one role, as it knows it itself, without asking anybody. */
export interface Posture {
  readonly nodeId: string;
  readonly role: "LEADER" | "STANDBY" | "DRAINING";
  /** It acts for the role: also while it gives it up. */
  readonly isLeader: boolean;
  /** The three are null together, where no living leader is known. */
  readonly leaderEpoch: bigint | null;
  readonly leaderId: string | null;
  readonly leaderUrl: string | null;
}

interface KnownLeader {
  readonly nodeId: string;
  readonly url: string | null;
  readonly epoch: bigint;
}

/** Whom a lease names. */
export function leaderOf(lease: LeaseView | null): KnownLeader | null {
  if (lease === null || lease.holder === null) return null;
  return { nodeId: lease.holder, url: lease.holderUrl, epoch: lease.epoch };
}

export function postureOf(
  nodeId: string,
  seen: {
    readonly isDraining: boolean;
    readonly isLeader: boolean;
    readonly isActing: boolean;
    readonly leader: KnownLeader | null;
  },
): Posture {
  const { isDraining, isLeader, isActing } = seen;
  // A leader that has lost touch is no place to send anybody to, least of all by itself.
  const leader = seen.leader?.nodeId === nodeId && !isActing ? null : seen.leader;
  return {
    nodeId,
    role: isDraining ? "DRAINING" : isLeader ? "LEADER" : "STANDBY",
    isLeader: isActing,
    leaderEpoch: leader?.epoch ?? null,
    leaderId: leader?.nodeId ?? null,
    leaderUrl: leader?.url ?? null,
  };
}

/** What has to be true before work is sent to a node. From memory. */
export interface Readiness {
  /** The last beat was answered, and not long ago. */
  readonly database: boolean;
  readonly migrations: boolean;
  readonly registered: boolean;
  readonly minNodes: boolean;
  readonly draining: boolean;
}

/** `broken`: why this node contends no more, where it does not. */
export function readinessOf(
  { timing, cluster }: { readonly timing: { nodeTimeoutMs: number }; readonly cluster: { minNodes: number } },
  { ageMs, members }: { readonly ageMs: number; readonly members: MemberCounts },
  state: {
    readonly hasLock: boolean;
    readonly broken: ErrorCode | null;
    readonly isClosing: boolean;
    readonly isDraining: boolean;
  },
): Readiness {
  const { hasLock, broken, isClosing, isDraining } = state;
  return {
    database: hasLock && ageMs <= timing.nodeTimeoutMs,
    migrations: broken !== "SCHEMA_TOO_NEW",
    registered: !isClosing && (broken === null || broken === "SCHEMA_TOO_NEW"),
    minNodes: members.active >= cluster.minNodes,
    draining: isDraining,
  };
}

export function isReady(readiness: Readiness): boolean {
  const { database, migrations, registered, minNodes, draining } = readiness;
  return database && migrations && registered && minNodes && !draining;
}
