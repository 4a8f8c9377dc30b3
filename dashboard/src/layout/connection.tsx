import { useEffect, useState } from "preact/hooks";
import { useLive } from "../live/live-stream.js";

const patienceMs = 1500;

/** Whether what one sees is happening now. */
export function LiveMark() {
  const connection = useLive((state) => state.connection);
  const said = { live: "Live", connecting: "Connecting", away: "Reconnecting" }[connection];
  return (
    <span class={`live-mark live-${connection}`} role="status">
      {said}
    </span>
  );
}

/** The node behind the page is gone: what is shown is old, and the others are one step away. */
export function AwayNote() {
  const { connection, nodeId, nodes } = useLive();
  const [shown, setShown] = useState(false);
  useEffect(() => {
    if (connection !== "away") return setShown(false);
    // A stream that is back at once, as after a restart of a proxy, is nothing to be told of.
    const timer = setTimeout(() => setShown(true), patienceMs);
    return () => clearTimeout(timer);
  }, [connection]);
  if (!shown) return null;
  const others = (nodes ?? []).filter(
    (node) => node.node_id !== nodeId && node.url !== null && node.status === "active",
  );
  return (
    <div class="note note-warn" role="status">
      <strong>{nodeId ?? "The node"} does not answer.</strong> What you see is as it was; the page comes back by itself.
      {others.length === 0 ? null : " Or look from "}
      {others.map(({ node_id, url }, index) => (
        <span key={node_id}>
          {index === 0 ? "" : ", "}
          <a href={`${url}/${location.hash}`}>{node_id}</a>
        </span>
      ))}
    </div>
  );
}
