import { setTimeout as delay } from "node:timers/promises";
import { parseRole } from "../election/core/names.js";
import { HoldfastError } from "../errors.js";
import type { Page, RequestBook, Store, Transition } from "../store/contract.js";
import { LeadershipNews } from "./leadership-news.js";
import type { NodeRequest, RequestKind } from "./node-request.js";
import { countByStatus, type MemberCounts, type NodeRow, type NodeStatus, statusNow } from "./node-row.js";

/** Who is here, and who leads what. Nodes that left are not counted. */
export interface ClusterInfo {
  readonly name: string;
  readonly totalNodes: number;
  readonly activeNodes: number;
  readonly drainingNodes: number;
  readonly deadNodes: number;
  readonly joiningNodes: number;
  /** The living node that leads each role; a role whose lease has run out is not in it. */
  readonly leaders: Readonly<Record<string, string>>;
}

/** Who holds a role's lease, as the database has it. Times are milliseconds since 1970 by its clock. */
export interface RoleLease {
  readonly role: string;
  readonly epoch: bigint;
  readonly nodeId: string | null;
  /** Of the process that holds it: another one may bear the node's name by now. */
  readonly incarnation: string | null;
  readonly url: string | null;
  readonly acquiredAt: number | null;
  readonly expiresAt: number;
  /** 0 when the lease has run out. */
  readonly remainingMs: number;
  readonly tenureMs: number | null;
}

/** The wish that a node be drained or resumed, or that a role's leader step down. */
export interface Asking {
  readonly kind: RequestKind;
  readonly nodeId?: string | undefined;
  readonly role?: string | undefined;
  readonly to?: string | undefined;
  readonly requestedBy: string;
  /** How long to wait for the other node to act; it may act later. */
  readonly waitMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** The cluster as the database shows it, to whichever node asks. */
export interface ClusterView {
  nodes(): Promise<readonly NodeRow[]>;
  node(id: string): Promise<NodeRow>;
  byStatus(status: NodeStatus): Promise<readonly NodeRow[]>;
  counts(): Promise<MemberCounts>;
  info(): Promise<ClusterInfo>;
  leases(): Promise<readonly RoleLease[]>;
  /** The last transitions, of one role or of all, newest first. */
  history(role?: string, page?: Page): Promise<readonly Transition[]>;
  /** Asks another node for something, and answers with what became of it; `actedAt` is null while it waits. */
  ask(asking: Asking): Promise<NodeRequest>;
  /** Tells whenever a role may have changed hands, as soon as this node knows. What is so now is to be read. */
  watchLeaders(watcher: () => void): Disposable;
}

/** Whom a lease makes the leader: the very process that took it, for as long as the lease runs and the process lives. */
export function leaderAmong(nodes: readonly NodeRow[], lease: RoleLease | undefined): NodeRow | null {
  if (lease === undefined || lease.nodeId === null || lease.remainingMs <= 0) return null;
  const holder = nodes.find(({ nodeId }) => nodeId === lease.nodeId);
  if (holder === undefined || holder.incarnation !== lease.incarnation) return null;
  return holder.status === "dead" || holder.status === "left" ? null : holder;
}

const historyLimit = 100;

type Source = Pick<Store<unknown>, "registry" | "requests" | "leases" | "history">;

export function viewCluster(
  store: Source,
  options: { readonly name: string; readonly nodeTimeoutMs: number },
  leadership = new LeadershipNews(),
): ClusterView {
  const { name, nodeTimeoutMs } = options;
  const asItIsNow = (node: NodeRow): NodeRow => ({ ...node, status: statusNow(node, nodeTimeoutMs) });
  const view: ClusterView = {
    nodes: async () => (await store.registry.nodes()).map(asItIsNow),
    async node(id) {
      const node = await store.registry.node(id);
      if (node === null) throw new HoldfastError("UNKNOWN_NODE", `There is no node "${id}" in this cluster.`);
      return asItIsNow(node);
    },
    byStatus: async (status) => (await view.nodes()).filter((node) => node.status === status),
    counts: async () => countByStatus(await view.nodes()),
    async info() {
      const [nodes, leases] = await Promise.all([view.nodes(), view.leases()]);
      const counts = countByStatus(nodes);
      const held = leases.flatMap((lease) => {
        const leader = leaderAmong(nodes, lease);
        return leader === null ? [] : [[lease.role, leader.nodeId]];
      });
      return {
        name,
        totalNodes: nodes.length - counts.left,
        activeNodes: counts.active,
        drainingNodes: counts.draining,
        deadNodes: counts.dead,
        joiningNodes: counts.joining,
        leaders: Object.fromEntries(held) as Record<string, string>,
      };
    },
    async leases() {
      const leases = await store.leases();
      return leases.map((lease) => {
        const held = lease.holder !== null;
        const now = lease.expiresAt - lease.remainingMs;
        return {
          role: lease.role,
          epoch: lease.epoch,
          nodeId: lease.holder,
          incarnation: lease.incarnation,
          url: lease.holderUrl,
          acquiredAt: held ? lease.acquiredAt : null,
          expiresAt: lease.expiresAt,
          remainingMs: Math.max(0, lease.remainingMs),
          tenureMs: held ? Math.max(0, now - lease.acquiredAt) : null,
        };
      });
    },
    history: (role, page = { limit: historyLimit }) =>
      store.history({ ...(role === undefined ? {} : { role: parseRole(role) }), ...page }),
    ask: (asking) => askAndWait(store.requests, asking, nodeTimeoutMs),
    watchLeaders: (watcher) => leadership.watch(watcher),
  };
  return view;
}

const firstLookMs = 10;
const slowestLookMs = 500;

async function askAndWait(book: RequestBook, asking: Asking, nodeTimeoutMs: number): Promise<NodeRequest> {
  const { kind, nodeId, role, to, requestedBy, waitMs, signal } = asking;
  const order = {
    kind,
    nodeId: nodeId ?? null,
    role: role === undefined ? null : parseRole(role),
    to: to ?? null,
    requestedBy,
  };
  const asked = await book.send(order, nodeTimeoutMs);
  const until = performance.now() + waitMs;
  let seen = asked;
  for (let pauseMs = firstLookMs; seen.actedAt === null; pauseMs = Math.min(pauseMs * 2, slowestLookMs)) {
    const leftMs = until - performance.now();
    if (leftMs <= 0 || signal?.aborted === true) return seen;
    await delay(Math.min(pauseMs, leftMs));
    seen = (await book.read(asked.id)) ?? seen;
  }
  if (seen.outcome?.kind === "refused") throw new HoldfastError("REFUSED", seen.outcome.message);
  return seen;
}
