import { parseNodeStatus, statusNow } from "../membership/node-row.js";
import type { Expectations } from "./expectations.js";
import type { ClusterFacts, Facts } from "./facts.js";
import { type Finding, ok, orOk, problem, warning } from "./finding.js";

/** A share of what is free from which on it gets tight. */
const tight = 0.8;

/** Connections that a node needs at most: one for beats, one witness, one for each role, and its pool. */
function connectionsOfNode(roles: number, poolSize: number): number {
  return 2 + roles + poolSize;
}

export function livingNodes(cluster: ClusterFacts | null, { timing }: Expectations): ClusterFacts["nodes"] {
  const living = new Set(["joining", "active", "draining"]);
  return (cluster?.nodes ?? []).filter(({ status, heartbeatAgeMs }) =>
    living.has(statusNow({ status: parseNodeStatus(status), heartbeatAgeMs }, timing.nodeTimeoutMs)),
  );
}

export function checkConnections({ server, cluster }: Facts, expected: Expectations): readonly Finding[] {
  if (server === null) return [];
  const { max, reserved, used, ofHoldfast, roleLimit, databaseLimit } = server.connections;
  const nodes = Math.max(livingNodes(cluster, expected).length, expected.minNodes, 1);
  const roles = Math.max(cluster?.leases.length ?? 0, 1);
  const needed = nodes * connectionsOfNode(roles, expected.poolSize);
  const free = max - reserved - (used - ofHoldfast);
  const formula = `${nodes} node(s) x (2 + ${roles} role(s) + pool of ${expected.poolSize}) = ${needed}`;
  const advice = "Raise max_connections, lower store.pool_size, or send what else uses the server through a pooler.";
  const limits = [
    { limit: roleLimit, of: "this role", statement: "ALTER ROLE ... CONNECTION LIMIT" },
    { limit: databaseLimit, of: "this database", statement: "ALTER DATABASE ... CONNECTION LIMIT" },
  ];
  const found: Finding[] = limits
    .filter(({ limit }) => limit >= 0 && limit < needed)
    .map(({ limit, of, statement }) =>
      problem(
        "connections",
        `The nodes need up to ${formula} connections, and ${of} may have ${limit}.`,
        `Raise it: ${statement} ${needed}.`,
      ),
    );
  const message = `The nodes need up to ${formula} connections; the server has ${free} for them (max_connections ${max}, ${reserved} reserved, ${used - ofHoldfast} used by others).`;
  if (needed > free) found.push(problem("connections", message, advice));
  else if (needed > free * tight) found.push(warning("connections", message, advice));
  return orOk(found, ok("connections", message));
}

const longTransactionSeconds = 3_600;
const lingeringPreparedSeconds = 60;
const oldXmin = 10_000_000;
const oldFreeze = 1_600_000_000;

/** What keeps VACUUM from cleaning up after the beats: each leaves a dead row. */
export function checkHorizon({ server }: Facts): readonly Finding[] {
  if (server === null || server.inRecovery) return [];
  const { oldest, xminAge, prepared, slots, freezeAge } = server.horizon;
  const found: Finding[] = [];
  if (oldest !== null && oldest.seconds > longTransactionSeconds) {
    found.push(
      warning(
        "xmin_horizon",
        `Session ${oldest.pid} of role "${oldest.user}" (${oldest.state}) has a transaction open for ${(oldest.seconds / 3600).toFixed(1)} h: dead rows pile up behind it.`,
        `Finish it, or end it: SELECT pg_terminate_backend(${oldest.pid}). idle_in_transaction_session_timeout prevents it.`,
      ),
    );
  } else if (xminAge > oldXmin) {
    found.push(
      warning(
        "xmin_horizon",
        `Some session holds a snapshot that is ${millions(xminAge)} transactions old: dead rows pile up behind it.`,
        "Look for it in pg_stat_activity, ordered by age(backend_xmin), as a role with pg_monitor.",
      ),
    );
  }
  for (const { gid } of prepared.filter(({ seconds }) => seconds > lingeringPreparedSeconds)) {
    found.push(
      warning(
        "xmin_horizon",
        `Prepared transaction "${gid}" is left open: it keeps its locks, and can hold up a takeover that nothing else may end.`,
        `COMMIT PREPARED '${gid}' or ROLLBACK PREPARED '${gid}', whichever its coordinator decided.`,
      ),
    );
  }
  for (const { name, active, xminAge: age } of slots.filter((slot) => slot.xminAge > oldXmin)) {
    found.push(
      warning(
        "xmin_horizon",
        `Replication slot "${name}" (${active ? "active" : "unused"}) holds back ${millions(age)} transactions: dead rows pile up behind it.`,
        active
          ? "Find out why its replica lags, or holds a long query."
          : `If its replica is gone: SELECT pg_drop_replication_slot('${name}').`,
      ),
    );
  }
  if (freezeAge > oldFreeze) {
    found.push(
      problem(
        "xmin_horizon",
        `The database was last frozen ${millions(freezeAge)} transactions ago; at 2,000 million the server refuses every write.`,
        "VACUUM (FREEZE) now, and find out what kept autovacuum from it.",
      ),
    );
  }
  return orOk(found, ok("xmin_horizon", "Nothing keeps VACUUM from cleaning up."));
}

const millions = (count: number): string => `${(count / 1_000_000).toFixed(0)} million`;
