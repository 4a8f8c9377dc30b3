import type { LeaderAnswer, NodeAnswer, TransitionAnswer } from "../server/cluster-answers.js";
import { formatAgo, formatElapsed, formatMoment } from "./elapsed.js";
import type { Tone } from "./paint.js";
import { type Column, renderTable, type TableLook } from "./table.js";

export interface TimedLook extends TableLook {
  /** Seconds since 1970. */
  readonly now: number;
}

const statusTones: Readonly<Record<string, Tone>> = {
  active: "good",
  joining: "warning",
  draining: "warning",
  dead: "bad",
  left: "dim",
};

export const statusTone = (status: string): Tone | null => statusTones[status] ?? null;

const percent = (share: number): string => `${Math.round(share * 100)} %`;

export function renderNodes(nodes: readonly NodeAnswer[], { now, ...look }: TimedLook): readonly string[] {
  const columns: readonly Column<NodeAnswer>[] = [
    { title: "node", cell: (node) => node.node_id, tone: (node) => (node.is_leader ? "strong" : null) },
    { title: "status", cell: (node) => node.status, tone: (node) => statusTone(node.status), whole: true },
    { title: "leads", cell: (node) => (node.is_leader ? "yes" : ""), tone: () => "good", whole: true },
    { title: "seen", cell: (node) => formatAgo(node.last_seen, now), whole: true },
    { title: "up", cell: (node) => upOf(node, now), whole: true },
    { title: "cpu", cell: (node) => percent(node.cpu_usage), align: "right", whole: true },
    { title: "memory", cell: (node) => percent(node.memory_usage), align: "right", whole: true },
    { title: "jobs", cell: (node) => String(node.current_jobs), align: "right", whole: true },
    { title: "host", cell: (node) => node.host, spare: true },
    { title: "pid", cell: (node) => String(node.pid), align: "right", whole: true, spare: true },
    { title: "url", cell: (node) => node.url ?? "-", spare: true },
    { title: "version", cell: (node) => node.version, spare: true },
  ];
  return renderTable(columns, nodes, look);
}

function upOf(node: NodeAnswer, now: number): string {
  const living = node.status !== "dead" && node.status !== "left";
  return living && node.started_at !== null ? formatElapsed((now - node.started_at) * 1000) : "-";
}

export function renderLeaders(leaders: readonly LeaderAnswer[], look: TableLook): readonly string[] {
  const columns: readonly Column<LeaderAnswer>[] = [
    { title: "role", cell: (lease) => lease.role },
    {
      title: "leader",
      cell: (lease) => lease.leader_id ?? "nobody",
      tone: (lease) => (lease.leader_id === null ? "bad" : "good"),
    },
    { title: "epoch", cell: (lease) => String(lease.leader_epoch), align: "right", whole: true },
    { title: "for", cell: (lease) => elapsedOr(lease.tenure_seconds, "-"), whole: true },
    {
      title: "lease left",
      cell: (lease) => (lease.leader_id === null ? "run out" : elapsedOr(lease.lease_remaining_seconds, "-")),
      whole: true,
    },
    { title: "url", cell: (lease) => lease.leader_url ?? "-", spare: true },
  ];
  return renderTable(columns, leaders, look);
}

const elapsedOr = (seconds: number | null, otherwise: string): string =>
  seconds === null ? otherwise : formatElapsed(seconds * 1000);

export function renderHistory(history: readonly TransitionAnswer[], { now, ...look }: TimedLook): readonly string[] {
  const columns: readonly Column<TransitionAnswer>[] = [
    { title: "when", cell: (line) => formatMoment(line.at), whole: true },
    { title: "ago", cell: (line) => formatAgo(line.at, now), whole: true, spare: true },
    { title: "role", cell: (line) => line.role },
    { title: "epoch", cell: (line) => String(line.epoch), align: "right", whole: true },
    { title: "event", cell: (line) => line.event, whole: true },
    { title: "reason", cell: (line) => line.reason },
    { title: "node", cell: (line) => line.node_id ?? "-" },
    { title: "before", cell: (line) => line.previous_node_id ?? "-", spare: true },
    { title: "gap", cell: (line) => elapsedOr(line.gap_seconds, "-"), align: "right", whole: true },
  ];
  return renderTable(columns, history, look);
}
