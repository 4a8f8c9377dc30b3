import { randomBytes } from "node:crypto";
import { expect, inject, test } from "vitest";
import { type ConfigOptions, resolveConfig } from "../../src/config/config.js";
import { type Finding, openMaintenance } from "../../src/maintenance.js";
import { clusterNode } from "../support/election.js";
import { startLocalNode } from "../support/local-node.js";
import { startPgBouncer } from "../support/pgbouncer.js";
import { createTestDatabase, startTestServer, withClient } from "../support/postgres.js";
import { givesEvidence } from "../support/postgres-version.js";
import { isMissing } from "../support/programs.js";
import { startReplica } from "../support/replica.js";
import { ensureRole, takeOver } from "../support/takeover.js";
import { startTcpProxy } from "../support/tcp-proxy.js";

async function diagnose(url: string, options: ConfigOptions = {}): Promise<readonly Finding[]> {
  await using maintenance = await openMaintenance(
    resolveConfig({ ...options, store: { url, ...options.store } }, false),
  );
  return await maintenance.diagnose();
}

const tooOldForEvidence = "cannot tell a crash from a kill in time";

/** What is wrong, but for what is true of every server of the run: it does not wait for its disk, and may be older than 15. */
async function complaints(url: string, options: ConfigOptions = {}): Promise<readonly Finding[]> {
  const findings = await diagnose(url, options);
  const known = ["fsync is off", ...(givesEvidence() ? [] : [tooOldForEvidence])];
  return findings.filter(({ verdict, message }) => verdict !== "ok" && !known.some((words) => message.includes(words)));
}

const about = (check: string, verdict: string, message: string, advice: string) => ({
  check,
  verdict,
  message: expect.stringContaining(message),
  advice: expect.stringContaining(advice),
});

const sql = (url: string, ...statements: readonly string[]) =>
  withClient(url, async (client) => {
    for (const statement of statements) await client.query(statement);
  });

function as(user: string, password: string, url: string): string {
  const changed = new URL(url);
  changed.username = user;
  changed.password = password;
  return changed.href;
}

test("a good server, its schema migrated and two nodes running as a role that owns nothing, is found good in every respect", async () => {
  await using server = await startTestServer();
  await sql(server.url, "CREATE ROLE node LOGIN PASSWORD 'secret'");
  {
    await using maintenance = await openMaintenance(resolveConfig({ store: { url: server.url } }, false));
    await maintenance.migrate();
    await maintenance.grant("node");
  }
  const url = as("node", "secret", server.url);
  await using first = await startLocalNode(clusterNode(url, "first"));
  await using second = await startLocalNode(clusterNode(url, "second"));
  const { epoch } = await first.leads();
  second.node.role("scheduler");
  // Timings that a busy disk does not break.
  const patient = { leaderFenceTimeoutSeconds: 60, leaderLeaseTtlSeconds: 90 };
  const findings = await diagnose(url, { cluster: { enabled: true, minNodes: 2, ...patient } });
  const ofItsAge = about("database", "warning", tooOldForEvidence, "Upgrade the server to 15 or newer");
  expect(findings.filter(({ verdict }) => verdict !== "ok")).toEqual(givesEvidence() ? [] : [ofItsAge]);
  expect(findings.map(({ check }) => check)).toEqual([
    "database",
    "schema",
    "permissions",
    "pooler",
    "tls",
    "timeline",
    "clocks",
    "timings",
    "connections",
    "xmin_horizon",
    "settings",
    "cluster",
  ]);
  expect(findings.at(-1)?.message).toBe(`2 node(s) run. scheduler: first, epoch ${epoch}`);
});

test("an empty database is found to lack its schema, and who would make it is told", async () => {
  await using database = await createTestDatabase({ template: "template1" });
  expect(await complaints(database.url)).toEqual([
    about("schema", "warning", 'Schema "holdfast" is not there yet', "The next node migrates it as it starts"),
  ]);
  expect(await complaints(database.url, { store: { migrate: "check" } })).toEqual([
    about("schema", "problem", 'Schema "holdfast" is not there yet', 'Run "holdfast migrate"'),
  ]);
});

test.skipIf(isMissing("pgbouncer"))("PgBouncer in transaction mode is found, and the way past it", async () => {
  await using database = await createTestDatabase();
  await using pooler = await startPgBouncer(database.url);
  const url = pooler.through(database.url);
  const wayOut = "Set store.election_url to a direct connection";
  expect(await complaints(url)).toEqual([about("pooler", "warning", "a crash costs the lease TTL of 5 s", wayOut)]);
  expect(await complaints(url, { cluster: { leaderElection: { takeover: "evidence" } } })).toEqual([
    about("pooler", "problem", "nodes refuse to start", wayOut),
  ]);
  expect(await complaints(url, { store: { electionUrl: database.url } })).toEqual([]);
  // Whoever gets that session of the pooler's next must find it as it was.
  const { rows } = await withClient(url, (client) => client.query("SHOW statement_timeout"));
  expect(rows).toEqual([{ statement_timeout: "0" }]);
});

test("a TCP proxy is found by the address that the server sees", async () => {
  await using database = await createTestDatabase();
  const { hostname, port } = new URL(database.url);
  await using proxy = await startTcpProxy({ host: hostname, port: Number(port) });
  expect(await complaints(proxy.through(database.url))).toEqual([
    about("pooler", "warning", "a grace of 250 ms", "Set store.election_url to the server's own address"),
  ]);
});

test("an election_url that leads to another database, or to nowhere, is found", async () => {
  await using database = await createTestDatabase();
  await using other = await createTestDatabase();
  expect(await complaints(database.url, { store: { electionUrl: other.url } })).toEqual([
    about("database", "problem", "another database than store.url", "Point both at the same database"),
  ]);
  expect(await complaints(database.url, { store: { electionUrl: "postgres://a@127.0.0.1:1/b" } })).toEqual([
    about("database", "problem", "cannot be used by store.election_url", "Is the server up"),
  ]);
});

test("a role without rights is found, with what it lacks and the command that gives it", async () => {
  await using database = await createTestDatabase();
  const name = `plain_${randomBytes(4).toString("hex")}`;
  await sql(database.url, `CREATE ROLE ${name} LOGIN PASSWORD 'secret'`);
  try {
    const url = as(name, "secret", database.url);
    const command = `Run "holdfast migrate --grant ${name}" as "postgres"`;
    expect(await complaints(url)).toEqual([about("permissions", "problem", "lacks usage on schema holdfast", command)]);
    await using maintenance = await openMaintenance(resolveConfig({ store: { url: database.url } }, false));
    await maintenance.grant(name, "reader");
    expect(await complaints(url)).toEqual([about("permissions", "problem", "more.", command)]);
    await maintenance.grant(name, "node");
    expect(await complaints(url)).toEqual([]);
    await sql(database.url, `REVOKE UPDATE ON holdfast.leases FROM ${name}`);
    expect(await complaints(url)).toEqual([about("permissions", "problem", "it lacks update on leases.", command)]);
    await sql(database.url, `GRANT UPDATE ON holdfast.leases TO ${name}`, `ALTER ROLE ${name} CONNECTION LIMIT 7`);
    expect(await complaints(url)).toEqual([
      about("connections", "problem", "= 8 connections, and this role may have 7", "CONNECTION LIMIT 8"),
    ]);
  } finally {
    await database.drop();
    await sql(inject("postgresUrl"), `DROP ROLE ${name}`);
  }
});

test("a replica is found, and nothing else is made of it", async () => {
  await using primary = await startTestServer();
  {
    await using maintenance = await openMaintenance(resolveConfig({ store: { url: primary.url } }, false));
    await maintenance.migrate();
  }
  await using replica = await startReplica(primary);
  await replica.caughtUp();
  const found = (way: string) => about("database", "problem", `${way} leads to a replica`, "at the primary");
  expect(await complaints(replica.url)).toEqual([found("store.url")]);
  expect(await complaints(primary.url, { store: { electionUrl: replica.url } })).toEqual([found("store.election_url")]);
});

test("a schema that newer code has migrated is found, whether this code may still use it or not", async () => {
  await using database = await createTestDatabase();
  await sql(database.url, "INSERT INTO holdfast.migrations (version, name, oldest_code) VALUES (98, 'x', 1)");
  const findings = await diagnose(database.url);
  expect(findings.find(({ check }) => check === "schema")).toMatchObject({
    verdict: "ok",
    message: expect.stringContaining("at version 98, newer than this code"),
  });
  await sql(database.url, "INSERT INTO holdfast.migrations (version, name, oldest_code) VALUES (99, 'y', 99)");
  expect(await complaints(database.url)).toEqual([
    about("schema", "problem", "runs only with code of version 99 or newer", "Upgrade Holdfast on this machine"),
  ]);
});

test("a schema that is older than this code, or another cluster's, is found", async () => {
  await using database = await createTestDatabase();
  await sql(
    database.url,
    "SELECT holdfast.claim_schema('theirs')",
    "DELETE FROM holdfast.migrations WHERE version = (SELECT max(version) FROM holdfast.migrations)",
  );
  expect(await complaints(database.url, { store: { migrate: "check" } })).toEqual([
    about("schema", "problem", "this code needs", 'Run "holdfast migrate" as "postgres"'),
    about("schema", "problem", 'belongs to cluster "theirs", not "default"', "Set cluster.name"),
  ]);
});

test("each way of not being let in is told apart", async () => {
  await using database = await createTestDatabase();
  const elsewhere = new URL(database.url);
  elsewhere.pathname = "nowhere";
  const ways: readonly (readonly [string, string, string])[] = [
    ["postgres://postgres@127.0.0.1:1/postgres", "ECONNREFUSED", "Is the server up"],
    [as("postgres", "wrong", database.url), "password authentication failed", "Check the user and the password"],
    [elsewhere.href, 'database "nowhere" does not exist', "CREATE DATABASE"],
  ];
  for (const [url, said, wayOut] of ways) {
    expect(await diagnose(url)).toEqual([about("database", "problem", said, wayOut)]);
  }
  expect(await diagnose(database.url, { store: { tls: "require" } })).toEqual([
    about("database", "problem", "does not support SSL", "store.tls"),
  ]);
});

test("settings of the database that get in the way are found, each with where they come from", async () => {
  await using database = await createTestDatabase();
  const set = (name: string, value: string) => `ALTER DATABASE ${database.name} SET ${name} = '${value}'`;
  await sql(
    database.url,
    set("synchronous_commit", "off"),
    set("idle_session_timeout", "2s"),
    set("lock_timeout", "5ms"),
  );
  expect(await complaints(database.url)).toEqual([
    about("settings", "warning", "synchronous_commit is off (set by database)", "RESET synchronous_commit"),
    about("settings", "warning", "lock_timeout is 5 ms", "ALTER ROLE"),
    about("settings", "warning", "idle_session_timeout is 2000 ms", "ALTER ROLE"),
  ]);
  await sql(database.url, `ALTER DATABASE ${database.name} RESET ALL`, set("default_transaction_read_only", "on"));
  expect(await complaints(database.url)).toEqual([
    about("database", "problem", "are read-only here", "RESET default_transaction_read_only"),
  ]);
});

test("commits that wait for a standby which is not there are found, and not waited for", async () => {
  await using server = await startTestServer();
  {
    await using maintenance = await openMaintenance(resolveConfig({ store: { url: server.url } }, false));
    await maintenance.migrate();
  }
  await sql(server.url, "ALTER SYSTEM SET synchronous_standby_names = 'FIRST 1 (nobody)'", "SELECT pg_reload_conf()");
  expect(await complaints(server.url)).toEqual([
    about("timings", "problem", "A commit was not done after 2300 ms", "a synchronous standby that does not answer"),
    about("settings", "problem", "asks for 1 standby(s), and 0 is there", "Bring the standby back"),
  ]);
  const waiting = "SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
  await withClient(server.url, async (client) => {
    await expect.poll(async () => (await client.query(waiting)).rowCount).toBe(0);
  });
});

test("a cluster without a leader, a dead node and an epoch that nears its end are found", async () => {
  await using database = await createTestDatabase();
  await ensureRole(database.url, "scheduler");
  await withClient(database.url, (client) => takeOver(client));
  const node = (id: string, age: string) =>
    `INSERT INTO holdfast.nodes (node_id, incarnation, clustered, status, hostname, pid, version, last_heartbeat)
     VALUES ('${id}', '${id}', true, 'active', 'host', 1, '1', clock_timestamp() - interval '${age}')`;
  await sql(
    database.url,
    node("living", "-1 minute"),
    node("silent", "1 minute"),
    `UPDATE holdfast.leases SET expires_at = clock_timestamp() - interval '1 minute', epoch = ${2n ** 53n - 1n}`,
  );
  expect(await complaints(database.url)).toEqual([
    about("cluster", "problem", 'Role "scheduler" has no leader, for 6', "No living node contends for it"),
    about("cluster", "warning", 'Node "silent" is dead', "Start it again"),
    about("cluster", "problem", "nears its limit", "Move to a new schema"),
  ]);
});
