import { Client } from "pg";
import { expect, inject, test } from "vitest";
import { createTestDatabase, killOneSession, startTestServer, withClient } from "./postgres.js";
import { startReplica } from "./replica.js";

test("many databases are cloned from the template at the same time, and each is gone when it is dropped", async () => {
  const databases = await Promise.all(Array.from({ length: 8 }, () => createTestDatabase()));
  await Promise.all(databases.map(({ url }) => withClient(url, (client) => client.query("CREATE TABLE mine (n int)"))));
  await Promise.all(databases.map((database) => database.drop()));
  const { rows } = await withClient(inject("postgresUrl"), (client) =>
    client.query("SELECT datname FROM pg_database WHERE datname = ANY ($1)", [databases.map(({ name }) => name)]),
  );
  expect(rows).toEqual([]);
});

test("nobody can open a session in the template, which would keep others from cloning it", async () => {
  const url = new URL(inject("postgresUrl"));
  url.pathname = inject("postgresTemplate");
  await expect(withClient(url.href, async () => undefined)).rejects.toMatchObject({ code: "55000" });
});

test("a server of one's own keeps its URL and its data over a restart and a crash", async () => {
  await using server = await startTestServer({ max_connections: "10" });
  await withClient(server.url, (client) => client.query("CREATE TABLE kept AS SELECT 7 AS n"));
  await server.restart();
  await server.crash();
  expect(await server.exited).toMatchObject({ kind: "failed" });
  await server.start({ max_connections: "11" });
  const { rows } = await withClient(server.url, (client) =>
    client.query("SELECT n, current_setting('max_connections') AS max FROM kept"),
  );
  expect(rows).toEqual([{ n: 7, max: "11" }]);
});

test("a killed session takes the others with it, while the server lives on", async () => {
  await using server = await startTestServer();
  const bystander = new Client({ connectionString: server.url });
  const ended = new Promise((resolve) => bystander.on("error", resolve));
  await bystander.connect();
  await killOneSession(server.url);
  expect(await ended).toMatchObject({ message: "Connection terminated unexpectedly" });
  await server.stop("immediate");
  // It would be "failed" had the server ended with its session.
  expect(await server.exited).toEqual({ kind: "stopped" });
});

test("a replica follows its primary, and takes over on a new timeline", async () => {
  await using primary = await startTestServer();
  await withClient(primary.url, (client) => client.query("CREATE TABLE log AS SELECT 'before the copy' AS line"));
  await using replica = await startReplica(primary);
  await withClient(primary.url, (client) => client.query("INSERT INTO log VALUES ('after the copy')"));
  await replica.caughtUp();
  const lines = async () =>
    (await withClient(replica.url, (client) => client.query("SELECT line FROM log"))).rows.map(({ line }) => line);
  expect(await lines()).toEqual(["before the copy", "after the copy"]);
  const { rows: senders } = await withClient(primary.url, (client) =>
    client.query("SELECT application_name AS name, state, sync_state FROM pg_stat_replication"),
  );
  expect(senders).toEqual([{ name: replica.name, state: "streaming", sync_state: "async" }]);
  await expect(
    withClient(replica.url, (client) => client.query("INSERT INTO log VALUES ('too early')")),
  ).rejects.toMatchObject({ code: "25006" });

  await primary.crash();
  await replica.promote();
  await withClient(replica.url, (client) => client.query("INSERT INTO log VALUES ('as primary')"));
  expect(await lines()).toEqual(["before the copy", "after the copy", "as primary"]);
  const { rows: timeline } = await withClient(replica.url, (client) =>
    client.query("SELECT left(pg_walfile_name(pg_current_wal_lsn()), 8) AS timeline"),
  );
  expect(timeline).toEqual([{ timeline: "00000002" }]);
});
