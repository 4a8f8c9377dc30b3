import type { TransitionAnswer } from "../../server/cluster-answers.js";
import { formatElapsed } from "../elapsed.js";
import { oneLine } from "../paint.js";
import type { ClusterPicture } from "./cluster-picture.js";

/** One thing that is different from what it was a moment ago. */
export interface ClusterChange {
  readonly kind: "leader_changed" | "leader_gone" | "node_joined" | "node_status" | "node_forgotten" | "node_restarted";
  readonly what: string;
  readonly node_id: string | null;
  readonly role?: string;
  readonly epoch?: number;
  readonly status?: string;
}

/** What happened between two pictures, as sentences. */
export function changesBetween(before: ClusterPicture, after: ClusterPicture): readonly ClusterChange[] {
  return [...leaderChanges(before, after), ...nodeChanges(before, after)];
}

function leaderChanges(before: ClusterPicture, after: ClusterPicture): readonly ClusterChange[] {
  return after.leaders.flatMap((lease): readonly ClusterChange[] => {
    const earlier = before.leaders.find(({ role }) => role === lease.role);
    const { role, leader_epoch: epoch, leader_id: is } = lease;
    const was = earlier?.leader_id ?? null;
    if (is === null) {
      if (was === null) return [];
      return [{ kind: "leader_gone", what: `nobody leads ${role}; ${oneLine(was)} did`, node_id: null, role, epoch }];
    }
    if (is === was && epoch === earlier?.leader_epoch) return [];
    const account = after.history.find(
      (line) => line.role === role && line.epoch === epoch && line.event === "elected",
    );
    const from = was === null || was === is ? "" : ` after ${oneLine(was)}`;
    const what = `${oneLine(is)} leads ${role}${from}, epoch ${epoch}${accountOf(account)}`;
    return [{ kind: "leader_changed", what, node_id: is, role, epoch }];
  });
}

function accountOf(line: TransitionAnswer | undefined): string {
  if (line === undefined) return "";
  const gap = line.gap_seconds === null ? "" : `, ${formatElapsed(line.gap_seconds * 1000)} without a leader`;
  return ` (${oneLine(line.reason)}${gap})`;
}

function nodeChanges(before: ClusterPicture, after: ClusterPicture): readonly ClusterChange[] {
  const earlier = new Map(before.nodes.map((node) => [node.node_id, node]));
  const here = new Set(after.nodes.map((node) => node.node_id));
  const changed = after.nodes.flatMap((node): readonly ClusterChange[] => {
    const { node_id, status } = node;
    const name = oneLine(node_id);
    const was = earlier.get(node_id);
    if (was === undefined) return [{ kind: "node_joined", what: `${name} joined (${status})`, node_id, status }];
    if (was.started_at !== node.started_at) {
      return [{ kind: "node_restarted", what: `${name} was started again (${status})`, node_id, status }];
    }
    if (was.status === status) return [];
    return [{ kind: "node_status", what: `${name} is ${status}, and was ${was.status}`, node_id, status }];
  });
  const forgotten = before.nodes
    .filter(({ node_id }) => !here.has(node_id))
    .map(
      ({ node_id }): ClusterChange => ({ kind: "node_forgotten", what: `${oneLine(node_id)} was forgotten`, node_id }),
    );
  return [...changed, ...forgotten];
}
