import { useLive } from "../live/live-stream.js";
import { PageHead, Panel } from "../parts/panel.js";
import { Table } from "../parts/table.js";
import { Since } from "../parts/when.js";

export function Overview() {
  const { leaders } = useLive();
  return (
    <>
      <PageHead title="Overview" says="Who leads, who is here, and what waits." />
      <Panel title="Leaders" flush>
        <Table
          caption="The leader of each role"
          rows={leaders}
          rowKey={({ role }) => role}
          empty="No role is known yet"
          columns={[
            { title: "Role", cell: ({ role }) => role },
            { title: "Leader", cell: ({ leader_id: leader }) => leader ?? "nobody" },
            { title: "Epoch", align: "end", cell: ({ leader_epoch: epoch }) => epoch },
            { title: "For", align: "end", cell: ({ acquired_at: at }) => <Since at={at} /> },
          ]}
        />
      </Panel>
    </>
  );
}
