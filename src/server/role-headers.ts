import { HoldfastError } from "../errors.js";
import type { Posture } from "../membership/posture.js";
import type { ServedNode } from "./served-node.js";

/** What a guard needs of a node. */
export type GuardedNode = Pick<ServedNode, "id" | "posture">;

/** Where the node stands for the role; a role that it has not heard of has no leader that it could name. */
export function postureOrUnknown(node: GuardedNode, role?: string): Posture {
  try {
    return node.posture(role);
  } catch (error) {
    if (!(error instanceof HoldfastError) || error.code !== "UNKNOWN_ROLE") throw error;
    return { nodeId: node.id, role: "STANDBY", isLeader: false, leaderEpoch: null, leaderId: null, leaderUrl: null };
  }
}

/**
 * The headers that say who answered and who leads, of the primary role where none is named. What is unknown is left out.
 * From memory.
 */
export function roleHeaders(node: GuardedNode, role?: string): Record<string, string> {
  const posture = postureOrUnknown(node, role);
  const known = {
    "x-holdfast-node": node.id,
    "x-holdfast-role": posture.role,
    "x-holdfast-leader-epoch": posture.leaderEpoch?.toString() ?? "",
    "x-holdfast-leader-id": posture.leaderId ?? "",
  };
  // A header that HTTP cannot carry would fail the whole answer.
  return Object.fromEntries(Object.entries(known).filter(([, value]) => /^[\x21-\x7e][\x20-\x7e]*$/.test(value)));
}
