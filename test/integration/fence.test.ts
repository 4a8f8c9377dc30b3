import { Pool } from "pg";
import { expect, test } from "vitest";
import { clusterNode, quick } from "../support/election.js";
import { startLocalNode } from "../support/local-node.js";
import { createTestDatabase, withClient } from "../support/postgres.js";
import { takeOver } from "../support/takeover.js";
import { startTcpProxy, type Wire } from "../support/tcp-proxy.js";

async function fencedDatabase() {
  const database = await createTestDatabase();
  await withClient(database.url, (client) => client.query("CREATE TABLE written (line text)"));
  const lines = async () =>
    (await withClient(database.url, (client) => client.query("SELECT line FROM written ORDER BY line"))).rows.map(
      ({ line }) => line as string,
    );
  return Object.assign(database, { lines });
}

const insert = (line: string) => `INSERT INTO written VALUES ('${line}')`;

test.concurrent("a fenced transaction commits while its term leads, and gives back what the function returned", async () => {
  await using database = await fencedDatabase();
  await using leader = await startLocalNode(clusterNode(database.url, "leader"));
  const term = await leader.leads();
  expect(await term.transaction(async (tx) => (await tx.query(insert("mine"))).rowCount)).toBe(1);
  expect(await database.lines()).toEqual(["mine"]);
});

for (const isolation of ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"]) {
  test.concurrent(`under ${isolation} a write is refused when a takeover came between it and its commit`, async () => {
    await using database = await fencedDatabase();
    await using leader = await startLocalNode(clusterNode(database.url, "leader"));
    const term = await leader.leads();
    const writing = term.transaction(async (tx) => {
      await tx.query(`SET TRANSACTION ISOLATION LEVEL ${isolation}`);
      await tx.query(insert("stale"));
      await withClient(database.url, (client) => takeOver(client));
    });
    await expect(writing).rejects.toMatchObject({ code: "STALE_EPOCH" });
    expect(await database.lines()).toEqual([]);
  });
}

test.concurrent("a stale twin is refused though it never noticed: its successor was elected while its transaction was open", async () => {
  await using database = await fencedDatabase();
  await using twin = await startLocalNode({
    ...clusterNode(database.url, "twin", quick),
    shutdown: { drainTimeoutSeconds: 0.1 },
  });
  const term = await twin.leads();
  await using successor = await startLocalNode(clusterNode(database.url, "successor", quick));
  const writing = term.transaction(async (tx) => {
    await tx.query(insert("stale"));
    // The drain overruns, because this very transaction is open; so the lease has to run out.
    await expect(twin.node.role("scheduler").stepDown()).rejects.toMatchObject({ code: "DRAINING" });
    const next = await successor.leads();
    expect(next.epoch).toBe(term.epoch + 1n);
    await next.transaction((fresh) => fresh.query(insert("fresh")));
  });
  await expect(writing).rejects.toMatchObject({ code: "STALE_EPOCH" });
  await expect(term.transaction((tx) => tx.query(insert("later")))).rejects.toMatchObject({ code: "NOT_LEADER" });
  expect(await database.lines()).toEqual(["fresh"]);
});

test.concurrent("a takeover does not wait for a fenced transaction whose client is still thinking", async () => {
  await using database = await fencedDatabase();
  await using leader = await startLocalNode(clusterNode(database.url, "leader"));
  const term = await leader.leads();
  const writing = term.transaction(async (tx) => {
    await tx.query(insert("stale"));
    await withClient(database.url, async (client) => {
      await client.query("SET lock_timeout = '1s'");
      await takeOver(client);
    });
  });
  await expect(writing).rejects.toMatchObject({ code: "STALE_EPOCH" });
});

test.concurrent("a session that has verified an epoch before still refuses it once another leads", async () => {
  await using database = await fencedDatabase();
  const pool = new Pool({ connectionString: database.url, max: 1 });
  // It beats so rarely that it does not hear of the takeover by itself.
  const slow = {
    heartbeatSeconds: 20,
    leaderFenceTimeoutSeconds: 60,
    leaderLeaseTtlSeconds: 90,
    nodeTimeoutSeconds: 60,
  };
  await using leader = await startLocalNode(clusterNode(database.url, "leader", slow, { pool }));
  const term = await leader.leads();
  const write = (line: string): Promise<unknown> => term.transaction((tx) => tx.query(insert(line)));
  await write("first");
  await write("second");
  await withClient(database.url, async (client) => {
    await client.query("BEGIN");
    await takeOver(client);
    await client.query("ROLLBACK"); // An acquire that did not commit changes nothing.
    await write("third");
    await takeOver(client);
  });
  await expect(write("stale")).rejects.toMatchObject({ code: "STALE_EPOCH" });
  expect(await database.lines()).toEqual(["first", "second", "third"]);
  await leader[Symbol.asyncDispose]();
  await pool.end();
});

test.concurrent("nothing runs where BEGIN did not succeed: it would commit by itself, unfenced", async () => {
  await using database = await fencedDatabase();
  const pool = new Pool({ connectionString: database.url, max: 1 });
  await using leader = await startLocalNode(clusterNode(database.url, "leader", {}, { pool }));
  const term = await leader.leads();
  const client = await pool.connect();
  const failOnce = (): Promise<never> => {
    Reflect.deleteProperty(client, "query"); // From here on the driver's own again.
    return Promise.reject(new Error("cancelled"));
  };
  Object.assign(client, { query: failOnce });
  client.release();
  let ran = false;
  const writing = term.transaction(async (tx) => {
    ran = true;
    await tx.query(insert("unfenced"));
  });
  await expect(writing).rejects.toMatchObject({ code: "DATABASE_AWAY" });
  expect(ran).toBe(false);
  await leader[Symbol.asyncDispose]();
  await pool.end();
});

for (const statement of ["COMMIT", "ROLLBACK", "COMMIT; BEGIN"]) {
  test.concurrent(`a function that ends the transaction by itself with ${statement} is told that it escaped the fence`, async () => {
    await using database = await fencedDatabase();
    await using leader = await startLocalNode(clusterNode(database.url, "leader"));
    const term = await leader.leads();
    const writing = term.transaction(async (tx) => {
      await tx.query(insert("escaped"));
      await tx.query(statement);
    });
    await expect(writing).rejects.toMatchObject({ code: "TRANSACTION_ESCAPED" });
  });
}

test.concurrent("a failed statement that the function swallowed is no success", async () => {
  await using database = await fencedDatabase();
  await using leader = await startLocalNode(clusterNode(database.url, "leader"));
  const term = await leader.leads();
  const writing = term.transaction(async (tx) => {
    await tx.query(insert("lost"));
    await expect(tx.query("SELECT 1 / 0")).rejects.toMatchObject({ code: "22012" });
    return "done";
  });
  await expect(writing).rejects.toMatchObject({ code: "DATABASE_REFUSED" });
  expect(await database.lines()).toEqual([]);
  await term.transaction((tx) => tx.query(insert("next")));
  expect(await database.lines()).toEqual(["next"]);
});

test.concurrent("an error of the function rolls back, and comes out as it went in", async () => {
  await using database = await fencedDatabase();
  await using leader = await startLocalNode(clusterNode(database.url, "leader"));
  const term = await leader.leads();
  const mistake = new Error("mine");
  const writing = term.transaction(async (tx) => {
    await tx.query(insert("lost"));
    throw mistake;
  });
  await expect(writing).rejects.toBe(mistake);
  expect(await database.lines()).toEqual([]);
});

test.concurrent("a connection that ends before the commit is sent leaves nothing behind, and no doubt about it", async () => {
  await using database = await fencedDatabase();
  await using leader = await startLocalNode(clusterNode(database.url, "leader"));
  const term = await leader.leads();
  const writing = term.transaction(async (tx) => {
    await tx.query(insert("lost"));
    const { rows } = await tx.query("SELECT pg_backend_pid() AS pid");
    const ended = new Promise((resolve) => {
      tx.once("error", resolve);
    });
    await withClient(database.url, (client) => client.query("SELECT pg_terminate_backend($1)", [rows[0]?.pid]));
    await ended;
  });
  await expect(writing).rejects.toMatchObject({ code: "DATABASE_AWAY" });
  expect(await database.lines()).toEqual([]);
});

test.concurrent("verify asks the database, and refuses a term that has been superseded", async () => {
  await using database = await fencedDatabase();
  await using leader = await startLocalNode(clusterNode(database.url, "leader"));
  const term = await leader.leads();
  await expect(term.verify()).resolves.toBeUndefined();
  await withClient(database.url, (client) => takeOver(client));
  await expect(term.verify()).rejects.toMatchObject({ code: "NOT_LEADER" });
});

test.concurrent("when the reply to COMMIT is lost, the outcome is unknown and said to be so", async () => {
  await using database = await fencedDatabase();
  const { hostname, port } = new URL(database.url);
  await using proxy = await startTcpProxy({ host: hostname, port: Number(port) });
  const settings = clusterNode(proxy.through(database.url), "leader", {}, { electionUrl: database.url });
  await using leader = await startLocalNode(settings);
  const term = await leader.leads();
  const committing = new Set<Wire>();
  proxy.passage = {
    toServer(bytes, wire) {
      if (bytes.includes("commit")) committing.add(wire);
      wire.server.write(bytes);
    },
    toClient(bytes, wire) {
      if (committing.has(wire)) wire.client.destroy();
      else wire.client.write(bytes);
    },
  };
  const writing = term.transaction((tx) => tx.query(insert("perhaps")));
  await expect(writing).rejects.toMatchObject({ code: "UNKNOWN_OUTCOME" });
  expect(await database.lines()).toEqual(["perhaps"]);
  proxy.passage = {};
  await term.transaction((tx) => tx.query(insert("surely")));
  expect(await database.lines()).toEqual(["perhaps", "surely"]);
});
