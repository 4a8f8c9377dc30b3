import type { ClusterNode, Transition } from "../api/cluster.js";
import type { Page } from "../api/paged.js";
import { useReading } from "../api/reading.js";
import { hrefTo } from "../layout/route.js";
import { useLive } from "../live/live-stream.js";
import { Tile } from "../parts/tile.js";
import { formatCount, formatDuration, formatGap } from "../time/format.js";

/** The cluster in five figures. */
export function Tiles({ elections }: { readonly elections: readonly Transition[] | undefined }) {
  return (
    <div class="tiles">
      <LeadersTile />
      <NodesTile />
      <FailoversTile elections={elections} />
      <QueueTile />
      <AlertsTile />
    </div>
  );
}

function LeadersTile() {
  const leaders = useLive((state) => state.leaders);
  const href = hrefTo("/leadership");
  if (leaders === undefined) return <Tile title="Roles led" href={href} value="–" />;
  const vacant = leaders.filter(({ leader_id: leader, leader_epoch: epoch }) => leader === null && epoch > 0);
  const led = leaders.filter(({ leader_id: leader }) => leader !== null).length;
  return (
    <Tile title="Roles led" href={href} value={`${led} of ${leaders.length}`} tone={vacant.length > 0 ? "bad" : "good"}>
      {vacant.length > 0 ? `nobody leads ${vacant.map(({ role }) => role).join(", ")}` : "every role has its leader"}
    </Tile>
  );
}

function NodesTile() {
  const nodes = useLive((state) => state.nodes);
  const href = hrefTo("/nodes");
  if (nodes === undefined) return <Tile title="Nodes active" href={href} value="–" />;
  const here = nodes.filter(({ status }) => status !== "left");
  const active = here.filter(({ status }) => status === "active").length;
  const tone = here.some(({ status }) => status === "dead") ? "bad" : active < here.length ? "warn" : "good";
  return (
    <Tile title="Nodes active" href={href} value={`${active} of ${here.length}`} tone={tone}>
      {othersOf(here)}
    </Tile>
  );
}

function othersOf(nodes: readonly ClusterNode[]): string {
  const counts = (["joining", "draining", "dead"] as const).flatMap((status) => {
    const count = nodes.filter((node) => node.status === status).length;
    return count === 0 ? [] : [`${count} ${status}`];
  });
  return counts.length === 0 ? "all are well" : counts.join(", ");
}

function FailoversTile({ elections }: { readonly elections: readonly Transition[] | undefined }) {
  const href = hrefTo("/leadership", [], { zoom: "1d" });
  if (elections === undefined) return <Tile title="Gaps in a day" href={href} value="–" />;
  const longest = Math.max(0, ...elections.map(({ gap_seconds: gap }) => (gap ?? 0) * 1000));
  return (
    <Tile title="Gaps in a day" href={href} value={formatCount(elections.length)}>
      {elections.length === 0 ? "led without a break" : `the longest ${formatGap(longest)}`}
    </Tile>
  );
}

interface Lane {
  readonly depth: number;
  readonly oldest_seconds: number | null;
  readonly state: string;
}

function QueueTile() {
  const { data } = useReading<Page<Lane>>("/queue/lanes", { limit: 1000 });
  const href = hrefTo("/queue");
  if (data === undefined) return <Tile title="Waiting" href={href} value="–" />;
  const depth = data.items.reduce((sum, lane) => sum + lane.depth, 0);
  const oldest = Math.max(0, ...data.items.map((lane) => lane.oldest_seconds ?? 0));
  const blocked = data.items.filter(({ state }) => state === "blocked").length;
  const more = data.next_cursor === null ? "" : "+";
  return (
    <Tile title="Waiting" href={href} value={`${formatCount(depth)}${more}`} tone={blocked > 0 ? "bad" : "quiet"}>
      {blocked > 0
        ? `${blocked} lanes are blocked`
        : depth === 0
          ? "nothing in any lane"
          : `the oldest for ${formatDuration(oldest * 1000)}`}
    </Tile>
  );
}

interface Alert {
  readonly name: string;
}

function AlertsTile() {
  const { data, error } = useReading<Page<Alert>>("/alerts", { state: "firing" });
  const href = hrefTo("/alerts");
  if (data === undefined)
    return (
      <Tile title="Alerts firing" href={href} value="–">
        {error === undefined ? "" : "cannot be told"}
      </Tile>
    );
  const names = [...new Set(data.items.map(({ name }) => name))];
  return (
    <Tile
      title="Alerts firing"
      href={href}
      value={formatCount(data.items.length)}
      tone={names.length > 0 ? "bad" : "good"}
    >
      {names.length === 0 ? "all quiet" : names.join(", ")}
    </Tile>
  );
}
