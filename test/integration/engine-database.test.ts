import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { DatabaseDestination } from "../../src/engine/transports/database/database-destination.js";
import { checkDatabaseInbound, checkDatabaseOutbound } from "../../src/engine/transports/database/database-settings.js";
import { DatabaseSource } from "../../src/engine/transports/database/database-source.js";
import type { OpenOutside, OutsideDatabase } from "../../src/store/outside-contract.js";
import { PostgresOutside } from "../../src/store/postgres/outside-database.js";
import { createTestDatabase, type TestDatabase, withClient } from "../support/postgres.js";
import {
  createLatch,
  deliveryOf,
  destinationScene,
  eventually,
  guardShutAt,
  heldCommit,
  Intake,
  noAbort,
  openGuard,
  sound,
} from "../support/transport-scene.js";

let database: TestDatabase;
const started: DatabaseSource[] = [];
const opened: DatabaseDestination[] = [];
const open: OpenOutside = (options) => new PostgresOutside(options);

beforeEach(async () => {
  database = await createTestDatabase();
  vi.stubEnv("LAB_URL", database.url);
  await sql("CREATE TABLE orders (id int PRIMARY KEY, at timestamp, big bigint, raw bytea, note json, taken text)");
});

afterEach(async () => {
  await Promise.all(started.splice(0).map((source) => source.stop()));
  await Promise.all(opened.splice(0).map((destination) => destination.close()));
  await database.drop();
  vi.unstubAllEnvs();
});

const sql = async (text: string): Promise<Record<string, unknown>[]> =>
  await withClient(database.url, async (client) => (await client.query(text)).rows);

const polling = {
  kind: "database",
  urlFrom: "LAB_URL",
  query: "SELECT id, at, big, raw, note FROM orders WHERE taken IS NULL ORDER BY id;",
  key: "id",
  done: "UPDATE orders SET taken = 'yes' WHERE id = :id",
  every: "10ms",
};

async function poll(given: object = {}, intake = new Intake(), opening = open) {
  const settings = sound(checkDatabaseInbound({ ...polling, ...given }, "feed"));
  const source = new DatabaseSource(intake.parts(settings), opening);
  started.push(source);
  await source.start();
  return { intake, source };
}

function destinationTo(statement: string, given: object = {}) {
  const options = { kind: "database", urlFrom: "LAB_URL", statement, ...given };
  const destination = new DatabaseDestination(
    destinationScene(sound(checkDatabaseOutbound(options, "lab"))).parts,
    open,
  );
  opened.push(destination);
  return destination;
}

const marks = async (): Promise<readonly unknown[]> =>
  (await sql("SELECT taken FROM orders ORDER BY id")).map(({ taken }) => taken);

it("makes a message of each row, as JSON that loses nothing, and marks it", async () => {
  await sql(`INSERT INTO orders VALUES (2, NULL, NULL, NULL, NULL),
    (1, '2026-03-29 02:30:00', 9007199254740993, '\\x00ff', '{"a": [1]}')`);
  const { intake, source } = await poll();
  await eventually(async () => expect(await marks()).toEqual(["yes", "yes"]));
  expect(intake.bodies.map((body) => JSON.parse(body))).toEqual([
    { id: 1, at: "2026-03-29 02:30:00", big: "9007199254740993", raw: "AP8=", note: { a: [1] } },
    { id: 2, at: null, big: null, raw: null, note: null },
  ]);
  expect(intake.kept[0]?.arrival).toMatchObject({
    key: expect.stringMatching(/^row:1:/),
    headers: { row_key: "1" },
  });
  expect(source.state).toMatchObject({ kind: "polling", reason: null });
});

it("takes one column as the message, in its very bytes, more rows than a batch, in order", async () => {
  await sql(
    "INSERT INTO orders SELECT n, NULL, NULL, convert_to('m' || n, 'UTF8') || '\\xff' FROM generate_series(1, 25) n",
  );
  const { intake } = await poll({ body: "raw", batch: 4 });
  await eventually(async () => expect(new Set(await marks())).toEqual(new Set(["yes"])));
  const expected = Array.from({ length: 25 }, (_, at) =>
    Buffer.concat([Buffer.from(`m${at + 1}`), Buffer.from([255])]),
  );
  expect(intake.kept.map(({ arrival }) => arrival.body)).toEqual(expected);
});

it("does not take a row twice that was committed and could not be marked", async () => {
  await sql("INSERT INTO orders VALUES (1)");
  let isStuck = true;
  const sticky: OpenOutside = (options) => {
    const real = new PostgresOutside(options);
    const execute: OutsideDatabase["execute"] = async (statement, values) => {
      if (isStuck) throw new Error("the connection was lost");
      return await real.execute(statement, values);
    };
    return { read: (...args) => real.read(...args), execute, begin: () => real.begin(), close: () => real.close() };
  };
  const { intake, source } = await poll({}, new Intake(), sticky);
  await eventually(() =>
    expect(source.state.reason).toBe("row 1 was taken in and cannot be marked (the connection was lost)"),
  );
  await source.stop();
  isStuck = false;
  await poll({}, intake, sticky);
  await eventually(async () => expect(await marks()).toEqual(["yes"]));
  expect(intake.kept).toHaveLength(1);
  expect(intake.receipts.map((receipt) => receipt.kind === "accepted" && receipt.duplicate)).toEqual([false, true]);
});

it("takes a row that was changed, and is there again, as another message", async () => {
  await sql("INSERT INTO orders VALUES (1, NULL, 7)");
  const { intake } = await poll();
  await eventually(async () => expect(await marks()).toEqual(["yes"]));
  await sql("UPDATE orders SET big = 8, taken = NULL");
  await eventually(async () => expect(await marks()).toEqual(["yes"]));
  expect(intake.bodies.map((body) => (JSON.parse(body) as { big: string }).big)).toEqual(["7", "8"]);
});

it("stops in the middle of a commit: marks nothing, takes nothing else, and the next one goes on", async () => {
  await sql("INSERT INTO orders VALUES (1), (2)");
  const intake = new Intake();
  const commit = heldCommit(intake);
  const { source } = await poll({}, intake);
  await commit.begun;
  const stopped = source.stop();
  expect(source.state.kind).toBe("stopped");
  commit.release();
  await stopped;
  expect([intake.kept.length, await marks()]).toEqual([1, [null, null]]);
  await poll({}, intake);
  await eventually(async () => expect(await marks()).toEqual(["yes", "yes"]));
  expect(intake.kept).toHaveLength(2);
});

it("keeps the order while the store is away", async () => {
  await sql("INSERT INTO orders VALUES (1), (2)");
  const intake = new Intake();
  let refusals = 0;
  intake.refuse = ({ key }) => {
    if (key?.startsWith("row:1:") !== true || refusals > 3) return null;
    refusals += 1;
    return { reason: "away", retry: true };
  };
  await poll({}, intake);
  await eventually(async () => expect(await marks()).toEqual(["yes", "yes"]));
  expect(intake.kept.map(({ arrival }) => arrival.headers?.row_key)).toEqual(["1", "2"]);
  expect(intake.states.map(({ reason }) => reason)).toContain("row 1 was not taken in: away");
});

it("marks what cannot be taken in, or passes over it, and goes on", async () => {
  await sql("INSERT INTO orders SELECT n FROM generate_series(1, 6) n");
  const intake = new Intake();
  intake.refuse = ({ headers }) => (Number(headers?.row_key) < 4 ? { reason: "no such thing", retry: false } : null);
  const { source } = await poll({ batch: 3 }, intake);
  await eventually(async () => expect((await marks()).slice(3)).toEqual(["yes", "yes", "yes"]));
  await eventually(() => expect(source.state.reason).toBe("row 1 is passed over: no such thing, and 2 more"));
  await source.stop();
  await poll({ failed: "UPDATE orders SET taken = :reason WHERE id = :id" }, intake);
  await eventually(async () => expect((await marks()).slice(0, 3)).toEqual(Array(3).fill("no such thing")));
});

it("says what is wrong with its query or its marks, and goes on when it is mended", async () => {
  await sql("INSERT INTO orders VALUES (1)");
  const reasonOf = async (given: object) => {
    const { source } = await poll(given);
    await eventually(() => expect(source.state.reason).not.toBeNull());
    const { reason } = source.state;
    await source.stop();
    return reason;
  };
  expect(await reasonOf({ query: "SELECT * FROM nothing" })).toContain('relation "nothing" does not exist (42P01)');
  expect(await reasonOf({ query: "UPDATE orders SET taken = 'x' RETURNING *" })).toContain("syntax error");
  expect(await reasonOf({ query: "SELECT 1; DROP TABLE orders" })).toContain("multiple commands");
  expect(await reasonOf({ query: "SELECT id, id FROM orders" })).toContain('two columns "id"');
  expect(await reasonOf({ key: "code" })).toContain('its key "code" is not among the columns');
  expect(await reasonOf({ done: "UPDATE orders SET taken = :who" })).toContain("it asks for :who");
  expect(await reasonOf({ done: "UPDATE orders SET taken = 'x' WHERE id = :id::int + 1" })).toContain("marked nothing");
  expect(await marks()).toEqual([null]);
});

it("says that its database is away, and goes on when it is back", async () => {
  await sql("INSERT INTO orders VALUES (1)");
  const { intake, source } = await poll();
  await eventually(() => expect(intake.kept).toHaveLength(1));
  await sql(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE application_name = 'holdfast inbound feed' AND datname = current_database()`,
  );
  await sql("INSERT INTO orders VALUES (2)");
  await eventually(async () => expect(await marks()).toEqual(["yes", "yes"]));
  await eventually(() => expect(source.state.reason).toBeNull());
});

it("runs its statement for each message, once committed, with what the message says", async () => {
  await sql("CREATE TABLE results (id text, key text PRIMARY KEY, epoch bigint, body bytea, ward text, list json)");
  const statement = `INSERT INTO results VALUES (:id, :key, :epoch, :body, :json.ward, :json.list) ON CONFLICT DO NOTHING`;
  const destination = destinationTo(statement);
  const body = JSON.stringify({ ward: "it's", list: [1, null] });
  for (const attempt of [1, 2]) {
    const outcome = await destination.send(deliveryOf(body, { attempt }), openGuard, noAbort);
    expect(outcome).toEqual({ kind: "delivered", reply: null });
  }
  const [row, ...others] = await sql("SELECT * FROM results");
  expect(row).toEqual({ id: "42", key: "lab/7", epoch: "3", body: Buffer.from(body), ward: "it's", list: [1, null] });
  expect(others).toEqual([]);
  expect(destination.state.kind).toBe("connected");
});

it("asks the guard before the statement and again before the commit, and writes nothing where it throws", async () => {
  const destination = destinationTo("INSERT INTO orders (id) VALUES (:id)");
  for (const nth of [1, 2]) {
    const guard = guardShutAt(nth);
    await expect(destination.send(deliveryOf("x"), guard, noAbort)).rejects.toThrow("leads no more");
    expect(guard.asked()).toBe(nth);
  }
  expect(await sql("SELECT * FROM orders")).toEqual([]);
  expect((await destination.send(deliveryOf("x"), openGuard, noAbort)).kind).toBe("delivered");
});

it("tells what fails for good from what may pass", async () => {
  await sql("CREATE FUNCTION refuse() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RAISE 'not here'; END $$");
  const outcomeOf = async (statement: string, body = "x") =>
    await destinationTo(statement).send(deliveryOf(body), openGuard, noAbort);
  await sql("INSERT INTO orders VALUES (42)");
  const good = { kind: "rejected", retry: false };
  expect(await outcomeOf("INSERT INTO orders (id) VALUES (:id)")).toMatchObject(good);
  expect(await outcomeOf("INSERT INTO orders (id) VALUES (:text)")).toMatchObject(good);
  expect(await outcomeOf("SELECT refuse(), :id")).toMatchObject({ ...good, reason: "not here (P0001)" });
  expect(await outcomeOf("SELECT :json.a::text")).toMatchObject({
    ...good,
    reason: expect.stringContaining("no JSON"),
  });
  expect(await outcomeOf("SELECT :json.a::text", "[]")).toMatchObject(good);
  expect(await outcomeOf("INSERT INTO nothing VALUES (:id)")).toMatchObject({ kind: "rejected", retry: true });
});

it("says unreached where nothing was committed, and unconfirmed where nobody said", async () => {
  const ended = destinationTo("SELECT pg_terminate_backend(pg_backend_pid()), :id::text");
  expect(await ended.send(deliveryOf("x"), openGuard, noAbort)).toMatchObject({ kind: "unreached" });
  // The session ends in the middle of the commit, as in a failover of their server.
  await sql(`CREATE FUNCTION fall() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(10); RETURN NULL; END $$`);
  await sql(`CREATE CONSTRAINT TRIGGER fall AFTER INSERT ON orders DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION fall()`);
  const destination = destinationTo("INSERT INTO orders (id) VALUES (:id)");
  expect(await destination.send(deliveryOf("x"), openGuard, noAbort)).toMatchObject({ kind: "unconfirmed" });
  await sql("DROP TRIGGER fall ON orders");
  expect((await destination.send(deliveryOf("x"), openGuard, noAbort)).kind).toBe("delivered");
  vi.stubEnv("LAB_URL", "postgres://127.0.0.1:9/nowhere");
  const away = destinationTo("SELECT :id");
  expect(await away.send(deliveryOf("x"), openGuard, noAbort)).toMatchObject({ kind: "unreached" });
});

it("waits no longer than it is told, and ends at once when it is called off", async () => {
  const slow = destinationTo("SELECT pg_sleep(20), :id::text", { replyTimeout: "1s" });
  const outcome = await slow.send(deliveryOf("x"), openGuard, noAbort);
  expect(outcome).toMatchObject({ kind: "rejected", retry: true, reason: expect.stringContaining("timeout") });
  const silent = createServer((socket) => socket.on("error", () => undefined)).listen(0, "127.0.0.1");
  await once(silent, "listening");
  vi.stubEnv("LAB_URL", `postgres://127.0.0.1:${(silent.address() as AddressInfo).port}/x`);
  const mute = destinationTo("SELECT :id", { connectTimeout: "50ms" });
  expect(await mute.send(deliveryOf("x"), openGuard, noAbort)).toMatchObject({ kind: "unreached" });
  silent.close();
  vi.stubEnv("LAB_URL", database.url);
  const begun = createLatch();
  const guard = { mayWrite: () => begun.open() };
  const calledOff = new AbortController();
  const waiting = destinationTo("SELECT pg_sleep(20), :id::text");
  const sending = waiting.send(deliveryOf("x"), guard, calledOff.signal);
  await begun.opened;
  calledOff.abort();
  expect(await sending).toEqual({ kind: "unreached", reason: "it was called off" });
});

it("needs its variable, and a URL in it, and shows neither", async () => {
  await expect(poll({ urlFrom: "LAB_URL_OF_NOBODY" })).rejects.toMatchObject({ code: "BAD_SETTINGS" });
  vi.stubEnv("LAB_URL", "mysql://root:secret@lab/");
  const failing = await poll().catch((error: unknown) => String(error));
  expect(failing).toContain("postgres://");
  expect(failing).not.toContain("secret");
});

it("tells all that is wrong with its settings at once", () => {
  const given = { kind: "database", url: "postgres://x", query: " ", key: "id", done: "UPDATE t SET x = 1" };
  expect(checkDatabaseInbound(given, "inbound.feed")).toEqual([
    'inbound.feed has no field "url": did you mean "urlFrom"?',
    "inbound.feed.urlFrom must be the name of a variable of the environment, like LAB_PASSWORD: the secret itself does not stand here.",
    "inbound.feed.query must be a statement of SQL.",
    "inbound.feed.done must be about one row: name its columns, like :id.",
  ]);
  expect(checkDatabaseOutbound({ kind: "database", urlFrom: "U", statement: "SELECT :control" }, "out")).toEqual([
    "out.statement must be made with :body, :text, :json.FIELD, :key, :id, :type, :control_id, :connection, :outbound, :epoch and :attempt, and not :control.",
  ]);
});
