import { livingNodes } from "./capacity-check.js";
import type { Expectations } from "./expectations.js";
import type { ClusterFacts, Facts } from "./facts.js";
import { type Finding, ok, orOk, problem, warning } from "./finding.js";

const largestEpoch = 2n ** 53n;
const largeHistoryBytes = 1_000_000_000;

/** Who is here, who leads, and what piles up. */
export function checkCluster({ cluster, server }: Facts, expected: Expectations): readonly Finding[] {
  if (cluster === null || server?.inRecovery !== false) return [];
  const living = livingNodes(cluster, expected);
  const found = [
    ...vacancies(cluster, expected, living.length),
    ...deadNodes(cluster, living),
    ...logins(cluster),
    ...growth(cluster, expected),
  ];
  if (living.length > 0 && living.length < expected.minNodes) {
    found.push(
      warning(
        "cluster",
        `${living.length} node(s) run, and cluster.min_nodes is ${expected.minNodes}: none of them calls itself ready.`,
        "Start the others, or lower cluster.min_nodes.",
      ),
    );
  }
  const leads = cluster.leases.filter(({ holder, remainingMs }) => holder !== null && remainingMs > 0);
  const led = leads.map(({ role, holder, epoch }) => `${role}: ${holder}, epoch ${epoch}`).join("; ");
  const here = living.length === 0 ? "No node runs now." : `${living.length} node(s) run. ${led || "No role is led."}`;
  return orOk(found, ok("cluster", here));
}

function vacancies(cluster: ClusterFacts, expected: Expectations, living: number): Finding[] {
  if (living === 0) return []; // Nobody is there to lead.
  return cluster.leases
    .filter(({ holder, remainingMs }) => holder === null || remainingMs <= 0)
    .map(({ role, remainingMs }) => {
      // A reservation, a quarantine: the lease of nobody that still runs.
      const seconds = Math.max(0, -remainingMs / 1000);
      const message = `Role "${role}" has no leader${seconds > 0 ? `, for ${seconds.toFixed(1)} s` : ""}.`;
      if (seconds * 1000 <= 2 * expected.timing.ttlMs) {
        return warning("cluster", message, "An election may be under way: look again in a moment.");
      }
      const advice =
        "No living node contends for it: check promotable and leader_election.enabled, the nodes' logs, and whether their work fails at its start.";
      if (role === expected.primaryRole) return problem("cluster", message, advice);
      return warning("cluster", message, `${advice} If the role is no longer used, this is as it should be.`);
    });
}

function deadNodes({ nodes }: ClusterFacts, living: ClusterFacts["nodes"]): Finding[] {
  return nodes
    .filter((node) => node.status !== "left" && !living.includes(node))
    .map(({ nodeId, heartbeatAgeMs }) =>
      warning(
        "cluster",
        `Node "${nodeId}" is dead: not heard of for ${(heartbeatAgeMs / 1000).toFixed(0)} s.`,
        "Start it again, or leave it: its row is forgotten after cluster.forget_after.",
      ),
    );
}

/** R6, R7: a role sees when another's sessions began, and ends them, only if it may act as that role. */
function logins(cluster: ClusterFacts): Finding[] {
  if (cluster.logins.length < 2) return [];
  return [
    warning(
      "cluster",
      `Nodes are logged in as different roles (${cluster.logins.join(", ")}): they cannot see each other's sessions, so a crash costs the lease TTL.`,
      "Let all of them log in as one role.",
    ),
  ];
}

function growth(cluster: ClusterFacts, { historyDays }: Expectations): Finding[] {
  const found = cluster.leases
    .filter(({ epoch }) => epoch > (largestEpoch / 10n) * 9n)
    .map(({ role, epoch }) =>
      problem(
        "cluster",
        `The epoch of role "${role}" (${epoch}) nears its limit of ${largestEpoch}: there are no elections beyond it.`,
        "Somebody advanced it too far. Move to a new schema, where epochs begin anew, once no client holds an old token.",
      ),
    );
  if (cluster.historyBytes > largeHistoryBytes) {
    const size = `The history takes ${(cluster.historyBytes / 1_000_000_000).toFixed(1)} GB`;
    found.push(
      warning(
        "cluster",
        historyDays === 0 ? `${size}, and is kept for ever.` : `${size}: leadership changes very often.`,
        historyDays === 0
          ? "Set retention.history_days."
          : 'See "holdfast cluster history" for who takes over from whom, and why.',
      ),
    );
  }
  return found;
}
