import { once } from "node:events";
import { rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, test, vi } from "vitest";
import { ReferenceSets } from "../../src/engine/reference-sets.js";
import { EngineLeader } from "../contract/engine-leader.js";
import { Player, postgresHarness } from "../contract/harness.js";
import { ConfigFiles } from "../support/config-folder.js";
import type { LocalNode } from "../support/local-node.js";
import { createTestDatabase, withClient } from "../support/postgres.js";
import { FeedScene, type Modules } from "./feed-scene.js";

type Row = Readonly<Record<string, string>>;

/** Where a reference set comes from, as a test changes it. */
interface Origin extends AsyncDisposable {
  /** `from` in the definition. */
  readonly from: object;
  hold(rows: readonly Row[]): Promise<void>;
  /** From now on nothing can be read there. */
  fail(): Promise<void>;
  /** What the log says then. */
  readonly reason: RegExp;
}

/** Serves what a test sets, as JSON. */
class WebOrigin implements Origin {
  readonly reason = /http:\/\/127\.0\.0\.1:\d+ answers 500/;
  asked = 0;
  /** Null never answers. */
  answer: { readonly status: number; readonly body: string } | null = { status: 200, body: "[]" };
  private readonly server: Server;

  private constructor() {
    this.server = createServer((_, response) => {
      this.asked += 1;
      if (this.answer !== null) response.writeHead(this.answer.status).end(this.answer.body);
    });
  }

  static async open(): Promise<WebOrigin> {
    const origin = new WebOrigin();
    await once(origin.server.listen(0, "127.0.0.1"), "listening");
    return origin;
  }

  get from(): object {
    return { kind: "http", url: `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/wards` };
  }

  async hold(rows: readonly Row[]): Promise<void> {
    this.answer = { status: 200, body: JSON.stringify(rows) };
  }

  async fail(): Promise<void> {
    this.answer = { status: 500, body: "" };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

async function fileOrigin(): Promise<Origin> {
  const folder = await ConfigFiles.write({});
  const path = join(folder.path, "wards.csv");
  return {
    from: { kind: "file", path },
    reason: /wards\.csv cannot be read \(ENOENT\)/,
    hold: async (rows) => await folder.write({ "wards.csv": csvOf(rows) }),
    fail: async () => await rm(path),
    [Symbol.asyncDispose]: async () => await folder[Symbol.asyncDispose](),
  };
}

function csvOf(rows: readonly Row[]): string {
  return ["ward,name", ...rows.map(({ ward, name }) => `${ward},${name}`)].join("\n");
}

/** A table of another database on the same server. */
async function sqlOrigin(): Promise<Origin> {
  const outside = await createTestDatabase();
  vi.stubEnv("WARDS_URL", outside.url);
  const ask = async (text: string, values: readonly string[] = []) =>
    await withClient(outside.url, async (client) => await client.query(text, [...values]));
  await ask("create table wards (ward text, name text)");
  return {
    from: { kind: "sql", urlFrom: "WARDS_URL", query: "select ward, name from wards" },
    reason: /relation "wards" does not exist/,
    hold: async (rows) => {
      await ask("create table if not exists wards (ward text, name text)");
      const insert = "insert into wards select ward, name from json_to_recordset($1) as r(ward text, name text)";
      await withClient(outside.url, async (client) => {
        await client.query("begin");
        await client.query("truncate wards");
        await client.query(insert, [JSON.stringify(rows)]);
        await client.query("commit");
      });
    },
    fail: async () => {
      await ask("drop table wards");
    },
    [Symbol.asyncDispose]: async () => await outside[Symbol.asyncDispose](),
  };
}

/** Each message leaves with the name of its ward, which is in PID-3, in PID-5. */
function lookingUp(from: object, { more = "", every = "1s" } = {}): Modules {
  return `
export const adt = defineRouter({ name: "adt", handlers: ["to-lab"], route: () => ["to-lab"] });
export const wards = defineReference({ name: "wards", from: ${JSON.stringify(from)}, key: "ward", every: "${every}" });
export const toLab = defineHandler({
  name: "to-lab",
  outbounds: ["lab"],
  references: ["wards"],
  handle: (message, { reference }) => {
    const hl7 = message.hl7();
    const wards = reference("wards");
    return [send("lab", hl7.set("PID-5", String(wards.get(hl7.get("PID-3"))?.name ?? "nobody of " + wards.size)))];
  },
});
${more}`;
}

const told = ({ log }: LocalNode) =>
  log
    .filter(({ msg }) => msg.startsWith("a reference set could not be built"))
    .map(({ msg, reason }) => `${msg}: ${String(reason)}`);

describe.each([
  ["a file", fileOrigin],
  ["a statement", sqlOrigin],
  ["an address", async () => await WebOrigin.open()],
] as const)("a reference set from %s", (_, open) => {
  test("is built new and switched; what cannot be read leaves the old one, and is told; a standby has it too", async ({
    expect,
  }) => {
    await using origin = await open();
    await origin.hold([{ ward: "W1", name: "First" }]);
    await using scene = await FeedScene.open(lookingUp(origin.from));
    const a = await scene.start("a");
    expect(await scene.nameOf("W1")).toBe("First");
    expect(await scene.nameOf("W2")).toBe("nobody of 1");
    const b = await scene.start("b");
    await origin.hold([{ ward: "W2", name: "Second" }]);
    await expect.poll(async () => await scene.nameOf("W2"), { interval: 50 }).toBe("Second");
    expect(await scene.nameOf("W1")).toBe("nobody of 1");

    await origin.fail();
    await expect
      .poll(() => told(a))
      .toContainEqual(expect.stringMatching(new RegExp(`the old one stays: .*${origin.reason.source}`)));
    expect(await scene.nameOf("W2")).toBe("Second");
    const failure = async () => (await b.node.engine.references()).map((set) => set.failure?.reason ?? null);
    await expect.poll(failure).toEqual([expect.stringMatching(origin.reason)]);
    expect(await a.node.registry.metrics()).toContain('engine_reference_failed{reference="wards"} 1');
    expect(await b.node.registry.metrics()).toContain('engine_reference_failed{reference="wards"} 0');

    // As every node reads it, and as the next leader has it while its origin is away.
    const standby = new ReferenceSets(b.node.engine.book);
    await standby.follow(new Set(["wards"]));
    expect(standby.view("wards", ["wards"]).get("W2")).toEqual({ ward: "W2", name: "Second" });
    await a.node.close();
    expect(await scene.nameOf("W2")).toBe("Second");

    await origin.hold([{ ward: "W3", name: "Third" }]);
    await expect.poll(async () => await scene.nameOf("W3"), { interval: 50 }).toBe("Third");
    await expect.poll(failure).toEqual([null]);
  });
});

test("rows that cannot be told apart are refused as a whole, and so is what is no table", async ({ expect }) => {
  await using origin = await WebOrigin.open();
  await origin.hold([{ ward: "W1", name: "First" }]);
  await using scene = await FeedScene.open(lookingUp(origin.from));
  const a = await scene.start("a");
  expect(await scene.nameOf("W1")).toBe("First");
  for (const [body, reason] of [
    ['[{"ward":"W1","name":"a"},{"ward":"W1","name":"b"}]', '"W1" is the key of two rows, the second one being row 2'],
    ['[{"ward":"W1"},{"name":"b"}]', 'row 2 has no text or number under "ward"'],
    ['{"ward":"W1"}', "it must be a JSON array of objects"],
    ["<html>", "it is no JSON"],
  ] as const) {
    origin.answer = { status: 200, body };
    await expect.poll(() => told(a).join("\n")).toContain(reason);
  }
  expect(await scene.nameOf("W1")).toBe("First");
});

test("messages wait for a set that was never built, and go on as soon as it is", async ({ expect }) => {
  await using origin = await WebOrigin.open();
  await origin.fail();
  await using scene = await FeedScene.open(lookingUp(origin.from));
  const a = await scene.start("a");
  await scene.send("W1");
  await expect.poll(() => told(a).join("\n")).toContain("its messages wait for it");
  expect(scene.lab.messages).toEqual([]);
  expect(await a.node.engine.engine?.queue.deadLetters()).toEqual([]);
  await origin.hold([{ ward: "W1", name: "First" }]);
  await expect.poll(() => scene.received.map(([, , name]) => name)).toEqual(["First"]);
});

test("an origin that hangs holds up no other set, and nobody who gives the role up", async ({ expect }) => {
  await using origin = await WebOrigin.open();
  await origin.hold([{ ward: "W1", name: "First" }]);
  await using hanging = await WebOrigin.open();
  const more = `export const slow = defineReference({ name: "slow", from: ${JSON.stringify(hanging.from)}, key: "k", every: "1s" });`;
  await using scene = await FeedScene.open(lookingUp(origin.from, { more }));
  const a = await scene.start("a");
  expect(await scene.nameOf("W1")).toBe("First");
  const b = await scene.start("b");
  hanging.answer = null;
  const before = hanging.asked;
  await expect.poll(() => hanging.asked).toBeGreaterThan(before);
  await origin.hold([{ ward: "W1", name: "Again" }]);
  await expect.poll(async () => await scene.nameOf("W1"), { interval: 50 }).toBe("Again");
  await a.node.role("engine").stepDown({ to: "b" });
  expect(await scene.nameOf("W1")).toBe("Again");
  expect(b.node.role("engine").gate.isLeader).toBe(true);
  // Called off with the role, it is no failure of the origin.
  expect(told(a)).toEqual([]);
});

test("a reload reads a set anew, from where the new definition has it, without waiting for its time", async ({
  expect,
}) => {
  await using origin = await WebOrigin.open();
  await origin.hold([{ ward: "W1", name: "First" }]);
  await using other = await WebOrigin.open();
  await other.hold([{ ward: "W1", name: "Moved" }]);
  await using scene = await FeedScene.open(lookingUp(origin.from, { every: "1h" }));
  const a = await scene.start("a");
  expect(await scene.nameOf("W1")).toBe("First");
  await scene.define(lookingUp(other.from, { every: "1h" }));
  await a.node.engine.convergence?.reload(false);
  await expect.poll(async () => await scene.nameOf("W1"), { interval: 50 }).toBe("Moved");
});

/** The longest time for which nothing else had its turn. */
function watchTurns(): () => number {
  let last = performance.now();
  let longest = 0;
  const timer = setInterval(() => {
    longest = Math.max(longest, performance.now() - last);
    last = performance.now();
  }, 1);
  return () => {
    clearInterval(timer);
    return longest;
  };
}

test("100,000 rows are published and read in parts, and nobody else waits for the whole", { timeout: 60_000 }, async ({
  expect,
}) => {
  await using database = await createTestDatabase();
  await using harness = await postgresHarness({ database, url: database.url });
  const player = await Player.join(harness, "a");
  const { fence } = await EngineLeader.elect(player);
  const book = player.store.engine;
  const held: number[] = [];
  // What else this machine does may hold up some of them.
  for (let version = 1; version <= 3 || (version <= 10 && Math.min(...held) >= 0.5); version += 1) {
    const value = { text: `version ${version}`.padEnd(200, ".") };
    const rows = Array.from({ length: 100_000 }, (_, n) => ({ key: `K${n}`, value }));
    const began = performance.now();
    JSON.parse(JSON.stringify(rows));
    const atOnceMs = performance.now() - began;
    const longest = watchTurns();
    await book.publishReference(fence, { name: "wards", hash: `hash ${version}`, rows });
    const read = await book.readReference("wards", version);
    held.push(longest() / atOnceMs);
    expect([read?.length, read?.[99_999]]).toEqual([100_000, rows[99_999]]);
  }
  expect(Math.min(...held)).toBeLessThan(0.5);
  expect(await book.readReference("wards", 2)).toBeNull();
  // Nothing is left of what was before.
  const drafts = "select count(distinct draft)::int as drafts from holdfast.engine_reference_chunks";
  expect((await withClient(database.url, (client) => client.query(drafts))).rows).toEqual([{ drafts: 1 }]);
  player.crash();
});

test("100,000 rows are looked up and switched, and cost the leader nothing of its lease", { timeout: 60_000 }, async ({
  expect,
}) => {
  await using origin = await fileOrigin();
  const rows = (name: string) => Array.from({ length: 100_000 }, (_, n) => ({ ward: `W${n}`, name: `${name} ${n}` }));
  await origin.hold(rows("Ward"));
  await using scene = await FeedScene.open(lookingUp(origin.from));
  const a = await scene.start("a");
  expect(await scene.nameOf("W99999")).toBe("Ward 99999");
  expect(await scene.nameOf("W100000")).toBe("nobody of 100000");
  await origin.hold(rows("Room").toReversed());
  await expect.poll(async () => await scene.nameOf("W0"), { interval: 100 }).toBe("Room 0");
  expect(await a.node.engine.book.referenceVersions()).toMatchObject([{ name: "wards", version: 2, rows: 100_000 }]);
  expect(a.node.role("engine").gate.requireLeader().epoch).toBe(1n);
});
