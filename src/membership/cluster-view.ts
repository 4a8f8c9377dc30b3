import { parseRole } from "../election/core/names.js";
import type { Store, Transition } from "../store/contract.js";
import type { NodeRow, NodeStatus } from "./node-row.js";

/** Who is here, and who leads what. Nodes that left are not counted. */
export interface ClusterInfo {
  readonly name: string;
  readonly totalNodes: number;
  readonly activeNodes: number;
  readonly drainingNodes: number;
  readonly deadNodes: number;
  readonly joiningNodes: number;
  /** The node that leads each role; a role whose lease has run out is not in it. */
  readonly leaders: Readonly<Record<string, string>>;
}

/** The cluster as the database shows it, to whichever node asks. */
export interface ClusterView {
  nodes(): Promise<readonly NodeRow[]>;
  info(): Promise<ClusterInfo>;
  /** The last transitions, of one role or of all, newest first. */
  history(role?: string): Promise<readonly Transition[]>;
}

const historyLimit = 100;

export function viewCluster(store: Pick<Store<unknown>, "nodes" | "leases" | "history">, name: string): ClusterView {
  return {
    nodes: () => store.nodes(),
    history: (role) => store.history({ ...(role === undefined ? {} : { role: parseRole(role) }), limit: historyLimit }),
    async info() {
      const [nodes, leases] = await Promise.all([store.nodes(), store.leases()]);
      const count = (status: NodeStatus): number => nodes.filter((node) => node.status === status).length;
      const held = leases.flatMap((lease) =>
        lease.holder !== null && lease.remainingMs > 0 ? [[lease.role, lease.holder]] : [],
      );
      return {
        name,
        totalNodes: nodes.length - count("left"),
        activeNodes: count("active"),
        drainingNodes: count("draining"),
        deadNodes: count("dead"),
        joiningNodes: count("joining"),
        leaders: Object.fromEntries(held) as Record<string, string>,
      };
    },
  };
}
