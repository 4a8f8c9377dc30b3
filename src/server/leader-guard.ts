import { parseRole } from "../election/core/names.js";
import { DrainingError } from "../errors.js";
import { type Answer, answer } from "./answer.js";
import { type GuardedNode, postureOrUnknown } from "./role-headers.js";

/** What the guard is to know of the requests that it is asked about. */
export interface GuardOptions {
  /**
   * The request begins nothing, but ends what the leader gave out before, such as a result: a leader that drains takes it for
   * as long as its gate is open.
   */
  readonly endsWork?: boolean | undefined;
}

/**
 * Null where this node leads the role and takes new work. Else what to answer: 409 with the way to the leader, or 503 from a
 * leader that drains. From memory, by the gate's deadline at this very call; what is written afterwards still has to go
 * through `term.transaction`, because leadership can end a moment later (G1).
 */
export function leaderGuard(node: GuardedNode, role: string, { endsWork = false }: GuardOptions = {}): Answer | null {
  const posture = postureOrUnknown(node, parseRole(role));
  if (posture.role === "LEADER" || (endsWork && posture.isLeader)) return null;
  if (posture.role === "DRAINING" && posture.leaderId === node.id) {
    const draining = new DrainingError();
    return answer(node, draining.status, { error: draining.code, message: draining.message }, role);
  }
  return notLeader(node, role);
}

/** The exact shape that clients rely on to find the leader. */
export function notLeader(node: GuardedNode, role?: string): Answer {
  const { leaderId, leaderUrl, leaderEpoch } = postureOrUnknown(node, role);
  const body = {
    error: "NOT_LEADER",
    leader_id: leaderId,
    leader_url: leaderUrl,
    leader_epoch: leaderEpoch === null ? null : Number(leaderEpoch),
    node_id: node.id,
    role: "STANDBY",
  };
  return answer(node, 409, body, role);
}
