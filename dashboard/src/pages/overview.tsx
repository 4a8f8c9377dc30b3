import { useState } from "preact/hooks";
import type { RoleLeader, Transition } from "../api/cluster.js";
import { GapChart } from "../charts/gap-chart.js";
import { hrefTo } from "../layout/route.js";
import { useHistory } from "../live/history.js";
import { useLive } from "../live/live-stream.js";
import { LeaseBar } from "../parts/lease-bar.js";
import { Meter } from "../parts/meter.js";
import { NodeName } from "../parts/node-name.js";
import { StatusBadge } from "../parts/node-status.js";
import { PageHead, Panel } from "../parts/panel.js";
import { StepDown } from "../parts/step-down.js";
import { type Column, Table } from "../parts/table.js";
import { transitionColumns } from "../parts/transition-columns.js";
import { Ago, Since } from "../parts/when.js";
import { useServerNow } from "../time/clock.js";
import { Tiles } from "./overview-tiles.js";

const daySeconds = 86_400;

export function Overview() {
  const { leaders, nodes } = useLive();
  const [since] = useState(() => Date.now() / 1000 - daySeconds);
  const { transitions, loaded } = useHistory(since);
  const now = useServerNow(10_000);
  const elections = gapsSince(transitions, now / 1000 - daySeconds);
  const present = nodes?.filter(({ status }) => status !== "left");
  return (
    <>
      <PageHead title="Overview" says="Who leads, who is here, and what waits." />
      <Tiles elections={loaded ? elections : undefined} />
      <Panel title="Leaders" flush>
        <Table
          caption="The leader of each role"
          rows={leaders}
          rowKey={({ role }) => role}
          empty="No role is known yet"
          columns={leaderColumns}
        />
      </Panel>
      <div class="halves">
        <Panel title="Gaps of the last day" aside={<a href={hrefTo("/leadership", [], { zoom: "1d" })}>Timeline</a>}>
          <GapChart elections={elections} from={now - daySeconds * 1000} to={now} />
        </Panel>
        <Panel title="Nodes" flush aside={<a href={hrefTo("/nodes")}>All about them</a>}>
          <Table
            caption="The nodes"
            rows={present}
            rowKey={({ node_id: id }) => id}
            empty="No node is known"
            columns={[
              { title: "Node", cell: ({ node_id: id }) => <NodeName id={id} /> },
              { title: "Status", cell: ({ status }) => <StatusBadge status={status} /> },
              { title: "Load", cell: ({ load }) => <Meter share={load} label="Load" /> },
              { title: "Last seen", align: "end", cell: ({ last_seen: at }) => <Ago at={at} /> },
            ]}
          />
        </Panel>
      </div>
      <Panel title="Latest changes" flush aside={<a href={hrefTo("/leadership")}>History</a>}>
        <Table
          caption="The latest changes of leadership"
          rows={loaded ? transitions.slice(0, 6) : undefined}
          rowKey={({ id }) => id}
          empty="Nothing has happened yet"
          columns={transitionColumns}
        />
      </Panel>
    </>
  );
}

/** The elections that ended a gap. */
function gapsSince(transitions: readonly Transition[], since: number): readonly Transition[] {
  return transitions.filter(
    ({ event, reason, at, gap_seconds: gap }) =>
      event === "elected" && reason !== "first" && gap !== null && at >= since,
  );
}

const leaderColumns: readonly Column<RoleLeader>[] = [
  { title: "Role", cell: ({ role }) => <strong class="role-name">{role}</strong> },
  { title: "Leader", cell: (leader) => <Who leader={leader} /> },
  { title: "Lease", wide: true, cell: (leader) => <LeaseBar leader={leader} /> },
  { title: "Leads for", align: "end", cell: ({ acquired_at: at }) => <Since at={at} /> },
  { title: "Epoch", align: "end", cell: ({ leader_epoch: epoch }) => epoch },
  { title: "Actions", bare: true, cell: (leader) => <StepDown leader={leader} /> },
];

function Who({ leader }: { readonly leader: RoleLeader }) {
  const since = useLive((state) => state.leaderlessSince[leader.role]);
  if (leader.leader_id !== null) return <NodeName id={leader.leader_id} />;
  if (leader.leader_epoch === 0) return <span class="faint">nobody yet</span>;
  return (
    <strong class="bad-text">
      nobody{since === undefined ? "" : " for "}
      {since === undefined ? null : <Since at={since} />}
    </strong>
  );
}
