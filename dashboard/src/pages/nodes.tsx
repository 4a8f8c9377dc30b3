import { act } from "../api/client.js";
import type { ClusterNode, NodeRequest, NodeStatus } from "../api/cluster.js";
import { useSession } from "../api/session.js";
import { nodePage } from "../layout/node-page.js";
import { useLive } from "../live/live-stream.js";
import { Action } from "../parts/action.js";
import { Meter } from "../parts/meter.js";
import { NodeName } from "../parts/node-name.js";
import { StatusBadge } from "../parts/node-status.js";
import { PageHead, Panel } from "../parts/panel.js";
import { Sparkline } from "../parts/sparkline.js";
import { type Column, Table } from "../parts/table.js";
import { Ago, Since } from "../parts/when.js";
import { formatPercent } from "../time/format.js";

export function Nodes() {
  const { nodes } = useLive();
  const sorted = nodes?.toSorted((a, b) => rank(a) - rank(b) || (a.node_id < b.node_id ? -1 : 1));
  return (
    <>
      <PageHead title="Nodes" says="Who is here, what they lead, and how busy they are." />
      <Panel flush>
        <Table
          caption="The nodes of the cluster"
          rows={sorted}
          rowKey={({ node_id: id }) => id}
          columns={columns}
          empty="No node is known"
          rowClass={({ status }) => (status === "dead" || status === "left" ? "row-gone" : "")}
        />
      </Panel>
    </>
  );
}

/** Those that are gone come last. */
function rank({ status }: ClusterNode): number {
  return status === "left" ? 2 : status === "dead" ? 1 : 0;
}

const columns: readonly Column<ClusterNode>[] = [
  { title: "Node", cell: (node) => <Name node={node} /> },
  { title: "Status", cell: ({ status }) => <StatusBadge status={status} /> },
  { title: "Roles", cell: (node) => <Roles node={node} /> },
  { title: "CPU", cell: (node) => <Cpu node={node} /> },
  { title: "Memory", cell: (node) => <Share node={node} of="memory_usage" label="Of the machine's memory" /> },
  { title: "Load", cell: (node) => <Share node={node} of="load" label="Work goes to the least loaded first" /> },
  { title: "Jobs", align: "end", cell: ({ current_jobs: count }) => count },
  { title: "Last seen", align: "end", cell: (node) => <Seen node={node} /> },
  { title: "Actions", bare: true, cell: (node) => <Actions node={node} /> },
];

function isGone(status: NodeStatus): boolean {
  return status === "dead" || status === "left";
}

function Name({ node }: { readonly node: ClusterNode }) {
  const here = useSession()?.node_id === node.node_id;
  const page = here || isGone(node.status) ? null : nodePage(node.url, "#/nodes");
  return (
    <div class="two-lines">
      <span>
        {page === null ? (
          <NodeName id={node.node_id} />
        ) : (
          <a class="plain-link" href={page} title={`Look from ${node.node_id}`}>
            <NodeName id={node.node_id} />
          </a>
        )}
        {here ? <span class="tag">this page</span> : null}
        {node.promotable ? null : <span class="tag">never leads</span>}
      </span>
      <span class="faint">
        {node.host}:{node.pid} · {node.version}
      </span>
    </div>
  );
}

function Seen({ node }: { readonly node: ClusterNode }) {
  return (
    <div class="two-lines">
      <Ago at={node.last_seen} />
      {isGone(node.status) ? null : (
        <span class="faint">
          up <Since at={node.started_at} />
        </span>
      )}
    </div>
  );
}

/** What it leads, and beneath it what it serves. */
function Roles({ node }: { readonly node: ClusterNode }) {
  const leaders = useLive((state) => state.leaders);
  const led = (leaders ?? []).filter(({ leader_id: leader }) => leader === node.node_id);
  return (
    <div class="roles">
      {led.length === 0 ? null : (
        <span class="tags">
          {led.map(({ role }) => (
            <span key={role} class="tag tag-lead" title={`leads ${role}`}>
              {role}
            </span>
          ))}
        </span>
      )}
      <span class="faint">{node.roles.join(", ")}</span>
    </div>
  );
}

/** What a node that is gone last said of itself is no news. */
function Share({
  node,
  of,
  label,
}: {
  readonly node: ClusterNode;
  readonly of: "memory_usage" | "load";
  readonly label: string;
}) {
  return isGone(node.status) ? <span class="faint">–</span> : <Meter share={node[of]} label={label} narrow />;
}

function Cpu({ node }: { readonly node: ClusterNode }) {
  const samples = useLive((state) => state.cpu[node.node_id]);
  if (isGone(node.status)) return <span class="faint">–</span>;
  return (
    <span class="meter" title="Of the machine's processors">
      <Sparkline values={samples ?? []} />
      <span class="num">{formatPercent(node.cpu_usage)}</span>
    </span>
  );
}

function Actions({ node }: { readonly node: ClusterNode }) {
  const path = `/cluster/nodes/${encodeURIComponent(node.node_id)}`;
  if (node.status === "draining") {
    return (
      <Action
        permission="control"
        verb="Resume"
        label={`Resume ${node.node_id}`}
        title={`Resume ${node.node_id}?`}
        says="It takes work again, and contends for its roles again."
        run={async () => {
          const { acted_at: acted } = await act<NodeRequest>("POST", `${path}/resume`);
          return acted === null
            ? `${node.node_id} was asked to resume, and has not yet.`
            : `${node.node_id} is back at work.`;
        }}
      />
    );
  }
  if (node.status !== "active") return null;
  return (
    <Action
      permission="control"
      verb="Drain"
      label={`Drain ${node.node_id}`}
      danger
      title={`Drain ${node.node_id}?`}
      says="It takes no more work, finishes what it has, gives up every role that it leads and stays a follower until it is resumed."
      run={async () => {
        const { acted_at: acted } = await act<NodeRequest>("POST", `${path}/drain`);
        return acted === null ? `${node.node_id} was asked to drain, and has not yet.` : `${node.node_id} is draining.`;
      }}
    />
  );
}
