import { useMemo } from "preact/hooks";
import { useLive } from "../live/live-stream.js";

const hues = 8;

/** Each node has a colour of its own, the same on every page; by order, so that few nodes never share one. */
export function useHues(): (nodeId: string) => number {
  const nodes = useLive((state) => state.nodes);
  const history = useLive((state) => state.history);
  return useMemo(() => {
    const present = (nodes ?? []).map(({ node_id: id }) => id).toSorted();
    const gone = history.flatMap(({ node_id: id }) => (id === null || present.includes(id) ? [] : [id]));
    const order = [...new Set([...present, ...gone.toSorted()])];
    return (nodeId) => Math.max(0, order.indexOf(nodeId)) % hues;
  }, [nodes, history]);
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
