import type { WrittenRule } from "./alert-rule.js";

/** Timings of a cluster that some rules are measured by. */
export interface ClusterTimings {
  readonly heartbeatSeconds: number;
  readonly fenceTimeoutSeconds: number;
}

const usualTimings: ClusterTimings = { heartbeatSeconds: 1, fenceTimeoutSeconds: 3.5 };

/** The rules that are on where nobody says otherwise, over metrics of this prefix. */
export function defaultRules(prefix: string, timings: ClusterTimings = usualTimings): readonly WrittenRule[] {
  return [...leaderRules(prefix, timings), ...memberRules(prefix, timings), ...queueRules(prefix)];
}

function leaderRules(
  prefix: string,
  { heartbeatSeconds, fenceTimeoutSeconds }: ClusterTimings,
): readonly WrittenRule[] {
  const latestBeat = heartbeatSeconds * 1.2;
  const lowTrust = rounded((fenceTimeoutSeconds - latestBeat) / 2);
  return [
    {
      name: "no_scheduler_leader",
      condition: `sum(${prefix}leader_is_leader{role="scheduler"}) == 0`,
      for: "30s",
      severity: "critical",
      labels: {},
      summary: "Nobody leads scheduler: no jobs are handed out and no crons fire.",
    },
    {
      // A role that was never led may only be watched by its nodes.
      name: "no_leader",
      condition:
        `sum by (role) (${prefix}leader_is_leader{role!="scheduler"}) == 0 ` +
        `and on (role) max by (role) (${prefix}leader_epoch) > 0`,
      for: "30s",
      severity: "critical",
      labels: {},
      summary: "Nobody leads {{ $labels.role }}.",
    },
    {
      name: "frequent_failovers",
      condition: `round(sum(increase(${prefix}leader_failovers_total[5m]))) > 5`,
      for: "0s",
      severity: "warning",
      labels: {},
      summary: "Leaders fail one after the other: {{ $value }} takeovers within 5 minutes.",
    },
    {
      name: "trust_margin_low",
      condition: `${prefix}leader_trust_remaining_seconds < ${lowTrust} and ${prefix}leader_is_leader == 1`,
      for: "15s",
      severity: "warning",
      labels: {},
      summary:
        "The leader of {{ $labels.role }} renews so late that it may lose the role: {{ $value }} s of trust are left.",
    },
  ];
}

function memberRules(prefix: string, { heartbeatSeconds }: ClusterTimings): readonly WrittenRule[] {
  const late = rounded(heartbeatSeconds * 2.5);
  return [
    {
      name: "late_heartbeats",
      condition: `max by (node) (${prefix}leader_heartbeat_age_seconds) > ${late}`,
      for: "15s",
      severity: "warning",
      labels: {},
      summary: "The beats of {{ $labels.node }} are late: the last answered one was sent {{ $value }} s ago.",
    },
    {
      name: "node_dead",
      condition: `max(${prefix}cluster_nodes{status="dead"}) > 0`,
      for: "0s",
      severity: "warning",
      labels: {},
      summary: "Nodes that are dead: {{ $value }}.",
    },
  ];
}

function queueRules(prefix: string): readonly WrittenRule[] {
  const oldest = `${prefix}queue_oldest_seconds`;
  return [
    {
      // The oldest message grew older by as much as time went by, so it is still the same one; and one node led all along,
      // for the others say 0.
      name: "lane_stuck",
      condition: `max by (queue) (delta(${oldest}[5m]) > 270 and min_over_time(${oldest}[5m]) > 0)`,
      for: "1m",
      severity: "warning",
      labels: {},
      summary: "A lane of the queue {{ $labels.queue }} does not get on: its head is the same since 5 minutes.",
    },
    {
      name: "queue_age",
      condition: `max by (queue) (${oldest}) > 600`,
      for: "1m",
      severity: "warning",
      labels: {},
      summary: "The oldest message of the queue {{ $labels.queue }} has waited for {{ $value }} s.",
    },
    {
      name: "dead_letters",
      condition: `sum by (queue) (increase(${prefix}queue_dead_total[10m])) > 0`,
      for: "0s",
      severity: "warning",
      labels: {},
      summary: "Messages of the queue {{ $labels.queue }} were put aside as dead letters within the last 10 minutes.",
    },
  ];
}

/** To milliseconds, so that a condition shows no digits that nobody meant. */
const rounded = (seconds: number): number => Math.round(seconds * 1000) / 1000;
