import type { ClusterNode, ClusterNodes, RoleLeader, Transition } from "../api/cluster.js";

/** What the page knows of the cluster by the stream of its node. */
export interface LiveState {
  /** `away`: the stream broke off, and is tried again; what is known stays shown, and is said to be old. */
  readonly connection: "connecting" | "live" | "away";
  readonly nodeId: string | undefined;
  readonly leaders: readonly RoleLeader[] | undefined;
  readonly nodes: readonly ClusterNode[] | undefined;
  /** Newest first, without doubles, at most `maxHistory`. */
  readonly history: readonly Transition[];
  /** The server's clock minus this machine's. */
  readonly clockOffsetMs: number;
  /** The longest remaining lease that was seen of each role: what a full bar means. */
  readonly fullLeaseMs: Readonly<Record<string, number>>;
  /** When anything was last heard, by this machine's clock. */
  readonly heardAt: number | undefined;
}

export type LiveEvent =
  | { readonly kind: "hello"; readonly node_id: string; readonly now: number }
  | { readonly kind: "leaders"; readonly items: readonly RoleLeader[]; readonly now: number }
  | ({ readonly kind: "nodes"; readonly now: number } & ClusterNodes)
  | { readonly kind: "history"; readonly transitions: readonly Transition[] }
  | { readonly kind: "away" };

export const maxHistory = 500;

export const atFirst: LiveState = {
  connection: "connecting",
  nodeId: undefined,
  leaders: undefined,
  nodes: undefined,
  history: [],
  clockOffsetMs: 0,
  fullLeaseMs: {},
  heardAt: undefined,
};

export function hear(state: LiveState, event: LiveEvent, localNow: number): LiveState {
  switch (event.kind) {
    case "hello":
      // A new stream may come from another machine: what was known of the old one's clock is forgotten.
      return heard(
        { ...state, nodeId: event.node_id, clockOffsetMs: event.now * 1000 - localNow, connection: "live" },
        localNow,
      );
    case "leaders":
      return heard(
        {
          ...state,
          leaders: event.items,
          clockOffsetMs: closerOffset(state.clockOffsetMs, event.now, localNow),
          fullLeaseMs: fuller(state.fullLeaseMs, event.items),
        },
        localNow,
      );
    case "nodes":
      return heard(
        {
          ...state,
          nodes: event.nodes,
          clockOffsetMs: closerOffset(state.clockOffsetMs, event.now, localNow),
        },
        localNow,
      );
    case "history":
      return heard({ ...state, history: joined(state.history, event.transitions) }, localNow);
    case "away":
      return { ...state, connection: "away" };
  }
}

function heard(state: LiveState, localNow: number): LiveState {
  return { ...state, heardAt: localNow };
}

/**
 * An event that took long to get here makes the server's clock look slow, never fast: the largest difference is the
 * truest. It may creep back, since clocks drift.
 */
function closerOffset(knownMs: number, serverNow: number, localNow: number): number {
  return Math.max(serverNow * 1000 - localNow, knownMs - 20);
}

function fuller(known: Readonly<Record<string, number>>, leaders: readonly RoleLeader[]): Record<string, number> {
  const full = { ...known };
  for (const { role, lease_remaining_seconds: seconds } of leaders)
    full[role] = Math.max(full[role] ?? 0, seconds * 1000);
  return full;
}

/** Ids grow with time, and are longer than numbers are exact. */
function joined(known: readonly Transition[], fresh: readonly Transition[]): readonly Transition[] {
  const byId = new Map([...known, ...fresh].map((transition) => [transition.id, transition]));
  return [...byId.values()].toSorted((a, b) => newerFirst(a.id, b.id)).slice(0, maxHistory);
}

function newerFirst(a: string, b: string): number {
  if (a.length !== b.length) return b.length - a.length;
  return a < b ? 1 : a > b ? -1 : 0;
}
