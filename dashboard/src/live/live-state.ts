import type { ClusterNode, ClusterNodes, NodeStatus, RoleLeader, Transition } from "../api/cluster.js";

/** What the page knows of the cluster by the stream of its node. */
export interface LiveState {
  /** `away`: the stream broke off, and is tried again; what is known stays shown, and is said to be old. */
  readonly connection: "connecting" | "live" | "away";
  readonly nodeId: string | undefined;
  readonly leaders: readonly RoleLeader[] | undefined;
  readonly nodes: readonly ClusterNode[] | undefined;
  /** Newest first, without doubles, at most `maxHistory`. */
  readonly history: readonly Transition[];
  /** What nodes turned into while the page was open, newest first. */
  readonly nodeChanges: readonly NodeChange[];
  /** The share of the machine that each node lately used, oldest first. */
  readonly cpu: Readonly<Record<string, readonly number[]>>;
  /** The server's clock minus this machine's. */
  readonly clockOffsetMs: number;
  /** The longest remaining lease that was seen of each role: what a full bar means. */
  readonly fullLeaseMs: Readonly<Record<string, number>>;
  /** Since when nobody leads a role, in seconds by the server's clock; only roles without a leader are in it. */
  readonly leaderlessSince: Readonly<Record<string, number>>;
}

export interface NodeChange {
  /** Seconds, by the server's clock. */
  readonly at: number;
  readonly node_id: string;
  /** Null for a node that was not there before. */
  readonly from: NodeStatus | null;
  readonly to: NodeStatus | "forgotten";
}

export type LiveEvent =
  | { readonly kind: "hello"; readonly node_id: string; readonly now: number }
  | { readonly kind: "leaders"; readonly items: readonly RoleLeader[]; readonly now: number }
  | ({ readonly kind: "nodes"; readonly now: number } & ClusterNodes)
  | { readonly kind: "history"; readonly transitions: readonly Transition[] }
  | { readonly kind: "away" };

export const maxHistory = 2000;
const maxChanges = 200;
const maxSamples = 60;

export const atFirst: LiveState = {
  connection: "connecting",
  nodeId: undefined,
  leaders: undefined,
  nodes: undefined,
  history: [],
  nodeChanges: [],
  cpu: {},
  clockOffsetMs: 0,
  fullLeaseMs: {},
  leaderlessSince: {},
};

export function hear(state: LiveState, event: LiveEvent, localNow: number): LiveState {
  switch (event.kind) {
    case "hello":
      // A new stream may come from another machine: what was known of the old one's clock is forgotten.
      return { ...state, connection: "live", nodeId: event.node_id, clockOffsetMs: event.now * 1000 - localNow };
    case "leaders":
      return {
        ...state,
        leaders: event.items,
        clockOffsetMs: closerOffset(state.clockOffsetMs, event.now, localNow),
        fullLeaseMs: fuller(state.fullLeaseMs, event.items),
        leaderlessSince: leaderless(state, event.items, event.now),
      };
    case "nodes":
      return {
        ...state,
        nodes: event.nodes,
        clockOffsetMs: closerOffset(state.clockOffsetMs, event.now, localNow),
        nodeChanges: [...changesOf(state.nodes, event.nodes, event.now), ...state.nodeChanges].slice(0, maxChanges),
        cpu: sampled(state.cpu, event.nodes),
      };
    case "history":
      return { ...state, history: joined(state.history, event.transitions) };
    case "away":
      return { ...state, connection: "away" };
  }
}

/**
 * An event that took long to get here makes the server's clock look slow, never fast: the largest difference is the
 * truest. It creeps back where all events say so, since clocks drift; small differences are the way's, not the clock's.
 */
function closerOffset(knownMs: number, serverNow: number, localNow: number): number {
  const seenMs = serverNow * 1000 - localNow;
  return seenMs < knownMs - usualDelayMs ? knownMs - creepMs : Math.max(seenMs, knownMs);
}

const usualDelayMs = 250;
const creepMs = 20;

function fuller(known: Readonly<Record<string, number>>, leaders: readonly RoleLeader[]): Record<string, number> {
  const full = { ...known };
  for (const { role, lease_remaining_seconds: seconds } of leaders)
    full[role] = Math.max(full[role] ?? 0, seconds * 1000);
  return full;
}

/** From the end of the last lease that was seen, where one was: the database names no end of a lease that has run out. */
function leaderless(state: LiveState, leaders: readonly RoleLeader[], now: number): LiveState["leaderlessSince"] {
  const since: Record<string, number> = {};
  for (const { role, leader_id: leader } of leaders) {
    if (leader !== null) continue;
    const ended = state.leaders?.find((before) => before.role === role)?.lease_expires_at;
    since[role] = state.leaderlessSince[role] ?? Math.min(ended ?? now, now);
  }
  // The same where it says the same: what is drawn from it need not be drawn again.
  return JSON.stringify(since) === JSON.stringify(state.leaderlessSince) ? state.leaderlessSince : since;
}

function changesOf(
  before: readonly ClusterNode[] | undefined,
  after: readonly ClusterNode[],
  at: number,
): NodeChange[] {
  // The first sight of the cluster is no change.
  if (before === undefined) return [];
  const known = new Map(before.map(({ node_id, status }) => [node_id, status]));
  const changes: NodeChange[] = [];
  for (const { node_id, status } of after) {
    const from = known.get(node_id) ?? null;
    if (from !== status) changes.push({ at, node_id, from, to: status });
    known.delete(node_id);
  }
  for (const [node_id, from] of known) changes.push({ at, node_id, from, to: "forgotten" });
  return changes;
}

function sampled(known: LiveState["cpu"], nodes: readonly ClusterNode[]): Record<string, readonly number[]> {
  return Object.fromEntries(
    nodes.map(({ node_id, cpu_usage }) => [node_id, [...(known[node_id] ?? []), cpu_usage].slice(-maxSamples)]),
  );
}

function joined(known: readonly Transition[], fresh: readonly Transition[]): readonly Transition[] {
  const byId = new Map([...known, ...fresh].map((transition) => [transition.id, transition]));
  return [...byId.values()].toSorted((a, b) => newerFirst(a.id, b.id)).slice(0, maxHistory);
}

/** Ids grow with time, and may be longer than numbers are exact. */
function newerFirst(a: string, b: string): number {
  if (a.length !== b.length) return b.length - a.length;
  return a < b ? 1 : a > b ? -1 : 0;
}
