import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Transition } from "../api/cluster.js";
import { useHistory } from "../live/history.js";
import type { NodeChange } from "../live/live-state.js";
import { useLive } from "../live/live-stream.js";
import { Badge } from "../parts/badge.js";
import { ChoiceFilter, FilterBar, useFilter } from "../parts/filters.js";
import { NodeName } from "../parts/node-name.js";
import { StatusBadge } from "../parts/node-status.js";
import { Empty, ErrorNote, Loading } from "../parts/notes.js";
import { PageHead, Panel } from "../parts/panel.js";
import { Ago, Time } from "../parts/when.js";
import { formatGap } from "../time/format.js";
import { kindOf, reasonInWords, toneOf } from "../timeline/reasons.js";

type Happening =
  | { readonly kind: "leadership"; readonly key: string; readonly at: number; readonly line: Transition }
  | { readonly kind: "node"; readonly key: string; readonly at: number; readonly change: NodeChange };

const most = 200;

export function Events() {
  const { leaders = [], nodeChanges } = useLive();
  const [since] = useState(() => Date.now() / 1000 - 3600);
  const { transitions, loaded, error } = useHistory(since);
  const kind = useFilter("kind");
  const role = useFilter("role");
  const happenings = mixed(transitions, nodeChanges).filter(
    (one) =>
      (kind === "" || one.kind === kind) && (role === "" || (one.kind === "leadership" && one.line.role === role)),
  );
  return (
    <>
      <PageHead title="Events" says="Elections and what becomes of nodes, as it happens.">
        <FilterBar>
          <ChoiceFilter
            name="kind"
            label="About"
            all="Everything"
            options={[
              ["leadership", "Leadership"],
              ["node", "Nodes"],
            ]}
          />
          <ChoiceFilter name="role" label="Role" all="All roles" options={leaders.map((leader) => leader.role)} />
        </FilterBar>
      </PageHead>
      <ErrorNote error={error} />
      <Panel flush>
        {happenings.length > 0 ? (
          <ol class="feed" aria-label="Newest first">
            {happenings.slice(0, most).map((one) => (
              <li key={one.key}>
                {one.kind === "leadership" ? <Leadership line={one.line} /> : <Node change={one.change} />}
              </li>
            ))}
          </ol>
        ) : loaded ? (
          <Empty title="Nothing has happened yet">It appears here the moment it does.</Empty>
        ) : (
          <Loading />
        )}
      </Panel>
    </>
  );
}

function mixed(transitions: readonly Transition[], changes: readonly NodeChange[]): readonly Happening[] {
  const leadership = transitions.map((line) => ({ kind: "leadership" as const, key: line.id, at: line.at, line }));
  const nodes = changes.map((change) => ({
    kind: "node" as const,
    key: `${change.node_id}-${change.at}`,
    at: change.at,
    change,
  }));
  return [...leadership, ...nodes].toSorted((a, b) => b.at - a.at);
}

interface EntryProps {
  readonly at: number;
  readonly badge: ComponentChildren;
  readonly why?: string;
  readonly children: ComponentChildren;
}

function Entry({ at, badge, why, children }: EntryProps) {
  return (
    <>
      <span class="feed-when">
        <Time at={at} precise />
        <span class="faint">
          <Ago at={at} />
        </span>
      </span>
      <span class="feed-badge">{badge}</span>
      <span class="feed-what">
        <span>{children}</span>
        {why === undefined ? null : <span class="muted">{why}</span>}
      </span>
    </>
  );
}

function Leadership({ line }: { readonly line: Transition }) {
  const badge = <Badge tone={toneOf(line)}>{kindOf(line)}</Badge>;
  const gap =
    line.gap_seconds === null || line.reason === "first"
      ? ""
      : `, after ${formatGap(line.gap_seconds * 1000)} without a leader`;
  if (line.event === "elected") {
    return (
      <Entry at={line.at} badge={badge} why={reasonInWords(line.reason)}>
        <NodeName id={line.node_id} /> leads <strong>{line.role}</strong> under epoch{" "}
        <span class="num">{line.epoch}</span>
        {gap}
      </Entry>
    );
  }
  const did = { released: "gave up", quarantined: "lost", advanced: "had its epoch advanced in" }[line.event];
  return (
    <Entry at={line.at} badge={badge} why={reasonInWords(line.reason)}>
      <NodeName id={line.previous_node_id ?? line.node_id} /> {did} <strong>{line.role}</strong>
    </Entry>
  );
}

function becoming(from: NodeChange["from"], to: NodeChange["to"]): string {
  switch (to) {
    case "joining":
      return "joins";
    case "active":
      if (from === null || from === "joining") return "is here, and works";
      return from === "draining" ? "was resumed" : "is back";
    case "draining":
      return "drains: no more work, no more roles";
    case "dead":
      return "is not heard of any more";
    case "left":
      return "left in order";
    case "forgotten":
      return "is off the list";
  }
}

function Node({ change }: { readonly change: NodeChange }) {
  const { to, from } = change;
  return (
    <Entry at={change.at} badge={<StatusBadge status={to} />}>
      <NodeName id={change.node_id} /> {becoming(from, to)}
    </Entry>
  );
}
