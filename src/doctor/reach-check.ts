import type { Expectations } from "./expectations.js";
import type { Facts, Reach, ReachFailure, ServerFacts } from "./facts.js";
import { type Finding, ok, orOk, problem, warning } from "./finding.js";
import { lacksPassword, passwordAdvice } from "./password.js";

const wayOut: Readonly<Record<ReachFailure, string>> = {
  away: "Is the server up, are host and port right, and does a firewall let this machine through?",
  password: passwordAdvice,
  not_admitted: "The role must exist and have LOGIN, and pg_hba.conf must admit it from this machine.",
  no_database: "Create it (CREATE DATABASE), or correct its name in store.url or store.database.",
  full: "Raise max_connections, or end what uses them up; `connections` in the guide has the formula.",
  starting:
    "The server is starting, stopping or recovering: try again in a moment, and look at its log if that stays so.",
  tls: 'Correct store.tls and store.tls_ca: the server must offer TLS, with a certificate that the authority vouches for; "require" checks none.',
  other: "The server's log says more.",
};

/** Whether the ways to the database lead there, and what stands at their end. */
export function checkReach({ main, election, server }: Facts): readonly Finding[] {
  const found = [...unreached("store.url", main), ...unreached("store.election_url", election)];
  if (main.kind !== "reached" || server === null) return found;
  if (election?.kind === "reached" && election.database !== main.database) {
    found.push(
      problem(
        "database",
        "store.election_url leads to another database than store.url: leases and fenced writes would not meet.",
        "Point both at the same database of the same server; only the way there may differ.",
      ),
    );
  }
  if (election?.kind === "reached" && election.inRecovery) found.push(replica("store.election_url"));
  found.push(...judgeServer(server));
  return orOk(found, ok("database", `PostgreSQL ${server.version} answers, and takes writes.`));
}

function unreached(way: string, reach: Reach | null): readonly Finding[] {
  if (reach?.kind !== "failed") return [];
  const reason = lacksPassword(reach.said) ? "password" : reach.reason;
  return [problem("database", `The database cannot be used by ${way}: ${reach.said}.`, wayOut[reason])];
}

function replica(way: string): Finding {
  return problem(
    "database",
    `${way} leads to a replica: it takes no writes, so no node can join or lead.`,
    `Point ${way} at the primary, or at an address that follows it.`,
  );
}

function judgeServer(server: ServerFacts): readonly Finding[] {
  const found: Finding[] = [];
  const readOnly = server.settings.get("default_transaction_read_only");
  if (server.inRecovery) {
    found.push(replica("store.url"));
  } else if (readOnly?.value === "on") {
    found.push(
      problem(
        "database",
        `Sessions of this role are read-only here (default_transaction_read_only, set by ${readOnly.source}).`,
        "ALTER ROLE ... RESET default_transaction_read_only (or ALTER DATABASE, or the configuration file).",
      ),
    );
  }
  if (server.versionNumber < 140_000) {
    found.push(
      problem(
        "database",
        `PostgreSQL ${server.version} is too old for the schema.`,
        "Upgrade the server to 15 or newer.",
      ),
    );
  } else if (server.versionNumber < 150_000) {
    found.push(
      warning(
        "database",
        `PostgreSQL ${server.version} cannot tell a crash from a kill in time: a crashed leader is succeeded when its lease has run out.`,
        "Upgrade the server to 15 or newer for a failover in milliseconds.",
      ),
    );
  }
  return found;
}

/** R11: what stands between the nodes and the database. Elections take `election_url` where it is set. */
export function checkPath(facts: Facts, expected: Expectations): readonly Finding[] {
  const way = facts.election === null ? "store.url" : "store.election_url";
  const reach = facts.election ?? facts.main;
  if (reach.kind !== "reached") return [];
  if (reach.path === "direct") {
    const behind = facts.election !== null && facts.main.kind === "reached" && facts.main.path === "pooled";
    return [
      ok(
        "pooler",
        behind ? "A pooler stands before store.url; elections go past it." : "Sessions go to the server itself.",
      ),
    ];
  }
  if (reach.path === "proxied") {
    return [
      warning(
        "pooler",
        `A proxy or NAT stands before the database (${way}): crash evidence is held back for a grace of 250 ms.`,
        "Set store.election_url to the server's own address, if nodes can reach it, for a failover in milliseconds.",
      ),
    ];
  }
  const advice =
    'Set store.election_url to a direct connection, past the pooler, or takeover = "lease" to settle for this.';
  if (expected.insistsOnEvidence) {
    return [
      problem(
        "pooler",
        `A pooler stands before the database (${way}), and takeover = "evidence" was asked for: nodes refuse to start.`,
        advice,
      ),
    ];
  }
  const message = `A pooler stands before the database (${way}): locks and sessions mean nothing through it, so a crash costs the lease TTL of ${expected.timing.ttlMs / 1000} s.`;
  return expected.takeover === "lease" ? [ok("pooler", message)] : [warning("pooler", message, advice)];
}

export function checkTls({ main, election }: Facts): readonly Finding[] {
  const ways = [
    { way: "store.url", reach: main },
    { way: "store.election_url", reach: election },
  ];
  const open = ways.filter(({ reach }) => reach?.kind === "reached" && !reach.encrypted && !reach.local);
  if (main.kind !== "reached") return [];
  return orOk(
    open.map(({ way }) =>
      problem(
        "tls",
        `The connection by ${way} crosses a network unencrypted: whoever listens reads passwords and data.`,
        'Set store.tls = "verify-full" (with store.tls_ca), and ssl = on at the server.',
      ),
    ),
    ok("tls", main.encrypted ? "The connection is encrypted." : "The server is on this machine."),
  );
}
