import { useEffect, useState } from "preact/hooks";
import { useLive } from "../live/live-stream.js";
import { useServerNow } from "../time/clock.js";
import { nodePage } from "./node-page.js";

const patienceMs = 1500;

/** Whether what one sees is happening now. */
export function LiveMark() {
  const connection = useLive((state) => state.connection);
  const said = { live: "Live", connecting: "Connecting", away: "Away" }[connection];
  return (
    <span class={`live-mark live-${connection}`} role="status">
      {said}
    </span>
  );
}

/** How long after its end a lease may still be shown before something is wrong with the news. */
const overdueMs = 3000;

/** The node answers, and yet leases run out that nobody says anything about: it cannot read the database. */
export function OldNewsNote() {
  const { connection, nodeId, leaders } = useLive();
  const now = useServerNow(1000);
  const ends = (leaders ?? []).flatMap(({ lease_expires_at: end }) => (end === null ? [] : [end * 1000]));
  if (connection !== "live" || ends.every((end) => now - end < overdueMs)) return null;
  return (
    <div class="note note-warn" role="status">
      <strong>{nodeId} has no news of the cluster.</strong> It does not reach the database, it seems. Leaders and nodes
      are shown as they were.
    </div>
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
  const others = (nodes ?? []).flatMap(({ node_id: id, url, status }) => {
    const page = id === nodeId || status !== "active" ? null : nodePage(url, location.hash);
    return page === null ? [] : [{ id, page }];
  });
  return (
    <div class="note note-warn" role="status">
      <strong>{nodeId ?? "The node"} does not answer.</strong> What you see is as it was; the page comes back by itself.
      {others.length === 0 ? null : " Or look from "}
      {others.map(({ id, page }, index) => (
        <span key={id}>
          {index === 0 ? "" : ", "}
          <a href={page}>{id}</a>
        </span>
      ))}
    </div>
  );
}
