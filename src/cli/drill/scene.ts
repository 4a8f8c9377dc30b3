import { HoldfastError } from "../../errors.js";
import type { LeaderAnswer, NodeAnswer, NodesAnswer } from "../../server/cluster-answers.js";
import type { RoleAnswer } from "../../server/health-answers.js";
import type { ListAnswer } from "../../server/page.js";
import type { NodeClient } from "../node-client.js";
import { UnreachedError } from "../unreached.js";

export interface Standby {
  readonly nodeId: string;
  /** Asks as nobody: where a node stands is for everyone to know, and its address is only what the registry says. */
  readonly client: NodeClient;
}

/** A node that may stand by, for all that is known: nobody here could hear it. */
export interface Unasked {
  readonly nodeId: string;
  /** As the end of a sentence, with what to do about it. */
  readonly why: string;
}

/** Who plays in a drill: the leader that it is done to, and those who can take over. */
export interface Scene {
  readonly role: string;
  readonly leader: NodeAnswer;
  readonly epoch: number;
  readonly standbys: readonly Standby[];
  readonly unasked: readonly Unasked[];
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
  const asked = await Promise.all(candidates.map((node) => ask(client, node, role)));
  return {
    role,
    leader,
    epoch: lease.leader_epoch,
    standbys: asked.filter((each) => each !== null && "client" in each),
    unasked: asked.filter((each) => each !== null && "why" in each),
  };
}

/** A node counts only if it answers by itself, and stands by for this very role. Null: it does not. */
async function ask(client: NodeClient, node: NodeAnswer, role: string): Promise<Standby | Unasked | null> {
  const { node_id: nodeId, url, promotable } = node;
  if (!promotable) return null;
  if (url === null) return { nodeId, why: "it has no address: set its api.public_url" };
  const standby = client.anonymousAt(url, standbyTimeoutMs);
  try {
    const answer = await standby.get<RoleAnswer>(rolePath(role));
    return answer.role === "STANDBY" ? { nodeId, client: standby } : null;
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    // It was heard, and has nothing to do with this role.
    if (error.code === "UNKNOWN_ROLE") return null;
    return { nodeId, why: whyOf(error, url) };
  }
}

/** What else a person could ask instead is no way out here: it is this very node that counts. */
function whyOf(error: HoldfastError, url: string): string {
  const isAway = error instanceof UnreachedError && error.unreached.kind === "away";
  return isAway ? `nobody answers at ${url} (${error.unreached.reason})` : error.message.replace(/\.$/, "");
}
