import type { ConnectionBook, ConnectionRow } from "../store/connection-contract.js";
import { type ConnectionView, stoppedView } from "./connection-view.js";
import type { Graph } from "./graph.js";

/** How a connection is doing, and since when nobody has said anything else. */
export interface SeenConnection extends ConnectionView {
  /** When its leader told it, in milliseconds since 1970; null where this node is that leader, or where nobody has. */
  readonly toldAt: number | null;
}

type Known = Pick<ConnectionView, "name" | "direction" | "transport">;

/** All connections of a graph, inbounds first. */
export function connectionsOf({ inbounds, outbounds }: Graph): readonly Known[] {
  return [...inbounds.values(), ...outbounds.values()].map(({ name, kind, transport }) => ({
    name,
    direction: kind,
    transport: transport.kind,
  }));
}

/** As the leader last told, for nodes that do not lead. Without a graph of one's own: those that it told of. */
export async function toldConnections(
  book: Pick<ConnectionBook, "all">,
  graph: Graph | null,
): Promise<readonly SeenConnection[]> {
  const rows = new Map((await book.all()).map((row) => [row.name, row]));
  if (graph !== null) return connectionsOf(graph).map((known) => seen(rows.get(known.name), known));
  const told = [...rows.values()].flatMap((row) => {
    const state = row.state as Omit<ConnectionView, "name"> | null;
    return state === null ? [] : [seen(row, { name: row.name, ...state })];
  });
  const rank = ({ direction }: Known): number => (direction === "inbound" ? 0 : 1);
  return told.toSorted((one, other) => rank(one) - rank(other) || (one.name < other.name ? -1 : 1));
}

function seen(row: ConnectionRow | undefined, known: Known): SeenConnection {
  const nothing = { state: "stopped", reason: null, since: null, connections: 0 } as const;
  const told = (row?.state ?? nothing) as Omit<ConnectionView, "name">;
  // Whoever stopped it may have done so since the leader last told.
  const stopped = row === undefined || row.stopped === null ? {} : stoppedView(row.stopped);
  return { ...told, ...known, ...stopped, toldAt: row?.toldAt ?? null };
}
