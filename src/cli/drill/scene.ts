import { HoldfastError } from "../../errors.js";
import type { LeaderAnswer, NodeAnswer, NodesAnswer } from "../../server/cluster-answers.js";
import type { RoleAnswer } from "../../server/health-answers.js";
import type { ListAnswer } from "../../server/page.js";
import type { NodeClient } from "../node-client.js";

export interface Standby {
  readonly nodeId: string;
  /** Asks as nobody: where a node stands is for everyone to know, and its address is only what the registry says. */
  readonly client: NodeClient;
}

/** Who plays in a drill: the leader that it is done to, and those who can take over. */
export interface Scene {
  readonly role: string;
  readonly leader: NodeAnswer;
  readonly epoch: number;
  readonly standbys: readonly Standby[];
}

const standbyTimeoutMs = 2_000;

export function rolePath(role: string): string {
  return `/role?role=${encodeURIComponent(role)}`;
}

export async function readScene(client: NodeClient, role: string): Promise<Scene> {
  const [leaders, nodes] = await Promise.all([
    client.get<ListAnswer<LeaderAnswer>>("/cluster/leaders"),
    client.get<NodesAnswer>("/cluster/nodes"),
  ]);
  const lease = leaders.items.find((item) => item.role === role);
  if (lease === undefined) {
    const known = leaders.items.map((item) => item.role).join(", ") || "none yet";
    throw new HoldfastError("UNKNOWN_ROLE", `Nobody here knows the role "${role}"; known: ${known}.`);
  }
  const leader = nodes.nodes.find((node) => node.node_id === lease.leader_id);
  if (leader === undefined) {
    throw new HoldfastError("NO_LEADER", `Nobody leads the role "${role}" now: there is nothing to drill.`);
  }
  const candidates = nodes.nodes.filter((node) => node.node_id !== leader.node_id && node.status === "active");
  const standbys = await Promise.all(candidates.map((node) => standbyOf(client, node, role)));
  return { role, leader, epoch: lease.leader_epoch, standbys: standbys.filter((standby) => standby !== null) };
}

/** A node counts only if it answers by itself, and stands by for this very role. */
async function standbyOf(client: NodeClient, node: NodeAnswer, role: string): Promise<Standby | null> {
  if (node.url === null || !node.promotable) return null;
  const standby = client.anonymousAt(node.url, standbyTimeoutMs);
  try {
    const answer = await standby.get<RoleAnswer>(rolePath(role));
    return answer.role === "STANDBY" ? { nodeId: node.node_id, client: standby } : null;
  } catch (error) {
    if (error instanceof HoldfastError) return null;
    throw error;
  }
}
