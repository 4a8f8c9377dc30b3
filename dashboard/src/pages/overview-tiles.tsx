import type { Alert } from "../api/alert-answers.js";
import type { ClusterNode, Transition } from "../api/cluster.js";
import type { Page } from "../api/paged.js";
import type { Stage } from "../api/queue-answers.js";
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

function QueueTile() {
  const { data, error } = useReading<Page<Stage>>("/queue/stages");
  const href = hrefTo("/queue");
  if (data === undefined) {
    return (
      <Tile title="Waiting" href={href} value="–">
        {error === undefined ? "" : "cannot be told"}
      </Tile>
    );
  }
  const depth = data.items.reduce((sum, stage) => sum + stage.depth, 0);
  const blocked = data.items.reduce((sum, stage) => sum + stage.blocked, 0);
  return (
    <Tile
      title="Waiting"
      href={href}
      value={formatCount(depth)}
      tone={blocked > 0 ? "bad" : "quiet"}
      old={error !== undefined}
    >
      {blocked > 0 ? `${blocked} blocked ${blocked === 1 ? "lane" : "lanes"}` : ageOf(data.items)}
    </Tile>
  );
}

function ageOf(stages: readonly Stage[]): string {
  const ages = stages.flatMap(({ depth, oldest_seconds: age }) => (depth === 0 || age === null ? [] : [age]));
  return ages.length === 0 ? "nothing in any lane" : `the oldest for ${formatDuration(Math.max(...ages) * 1000)}`;
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
      old={error !== undefined}
    >
      {names.length === 0 ? "all quiet" : names.join(", ")}
    </Tile>
  );
}
