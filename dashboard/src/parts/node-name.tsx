import type { ClusterNode, Transition } from "../api/cluster.js";
import type { LiveState } from "../live/live-state.js";
import { useLive } from "../live/live-stream.js";

const hues = 8;

type Hues = (nodeId: string) => number;

/** Each node has a colour of its own, the same on every page; by order, so that few nodes never share one. */
export function useHues(): Hues {
  return useLive(huesOf);
}

interface Known {
  readonly nodes: readonly ClusterNode[] | undefined;
  readonly history: readonly Transition[];
  readonly order: string;
  readonly hueOf: Hues;
}

let known: Known | undefined;

/** Many names are drawn at once: it is made out once for all of them, and stays the same while the nodes are the same. */
function huesOf({ nodes, history }: Pick<LiveState, "nodes" | "history">): Hues {
  if (known !== undefined && known.nodes === nodes && known.history === history) return known.hueOf;
  const present = (nodes ?? []).map(({ node_id: id }) => id).toSorted();
  const gone = new Set(history.flatMap(({ node_id: id }) => (id === null ? [] : [id])));
  const ids = [...new Set([...present, ...[...gone].toSorted()])];
  const order = JSON.stringify(ids);
  known = { nodes, history, order, hueOf: known?.order === order ? known.hueOf : hueByPlace(ids) };
  return known.hueOf;
}

function hueByPlace(ids: readonly string[]): Hues {
  const places = new Map(ids.map((id, index) => [id, index % hues]));
  return (nodeId) => places.get(nodeId) ?? 0;
}

/** A node by its name, with its colour. */
export function NodeName({ id }: { readonly id: string | null | undefined }) {
  const hue = useHues();
  if (id === null || id === undefined) return <span class="faint">nobody</span>;
  return (
    <span class="node-name" title={id}>
      <i class={`node-dot hue-${hue(id)}`} aria-hidden="true" />
      <span>{id}</span>
    </span>
  );
}
