import type {
  InfoAnswer,
  LeaderAnswer,
  NodeAnswer,
  NodesAnswer,
  TransitionAnswer,
} from "../../server/cluster-answers.js";
import type { ListAnswer } from "../../server/page.js";
import type { NodeClient } from "../node-client.js";

/** The cluster at one moment, as one node showed it. */
export interface ClusterPicture {
  readonly via: string;
  readonly info: InfoAnswer;
  readonly nodes: readonly NodeAnswer[];
  readonly leaders: readonly LeaderAnswer[];
  /** Newest first. */
  readonly history: readonly TransitionAnswer[];
  /** Seconds since 1970, by this machine's clock. */
  readonly at: number;
}

const historyLines = 50;

export async function takePicture(client: NodeClient, signal: AbortSignal): Promise<ClusterPicture> {
  const [info, nodes, leaders, history] = await Promise.all([
    client.get<InfoAnswer>("/cluster/info", { signal }),
    client.get<NodesAnswer>("/cluster/nodes", { signal }),
    client.get<ListAnswer<LeaderAnswer>>("/cluster/leaders", { signal }),
    client.get<ListAnswer<TransitionAnswer>>(`/cluster/history?limit=${historyLines}`, { signal }),
  ]);
  return {
    via: client.url,
    info,
    nodes: nodes.nodes,
    leaders: leaders.items,
    history: history.items,
    at: Date.now() / 1000,
  };
}
