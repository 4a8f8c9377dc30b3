import { test } from "vitest";
import { ConfigFiles, type Files } from "../support/config-folder.js";
import { calm, clusterNode } from "../support/election.js";
import { freePort } from "../support/free-ports.js";
import { startLocalNode } from "../support/local-node.js";
import { createTestDatabase } from "../support/postgres.js";
import { ackFor, adt, codeOf, promiseOfTest, Receiver, Sender } from "./mllp-scene.js";

function feed(inPort: number, outPort: number, more = ""): Files {
  return {
    "feed.ts": `
import { defineHandler, defineInbound, defineOutbound, defineRouter, send } from "holdfast/engine";

export const adtIn = defineInbound({ name: "adt-in", router: "adt", transport: { kind: "mllp", host: "127.0.0.1", port: ${inPort} } });
export const adt = defineRouter({
  name: "adt",
  handlers: ["to-lab"],
  route: (message) => (message.type === "ADT^A01" ? ["to-lab"] : []),
});
export const toLab = defineHandler({
  name: "to-lab",
  outbounds: ["lab"],
  state: ["seen"],
  handle: (message, { state }) => {
    const hl7 = message.hl7();
    const patient = hl7.get("PID-3");
    if (patient === "nobody") return [];
    if (patient === "broken") throw new Error("no such ward");
    const seen = state("seen");
    const visits = Number(seen.get(patient) ?? 0) + 1;
    seen.set(patient, visits);
    return [send("lab", hl7.set("MSH-5", "LAB").set("PID-4", String(visits)))];
  },
});
export const lab = defineOutbound({
  name: "lab",
  transport: { kind: "mllp", host: "127.0.0.1", port: ${outPort} },
  retry: { backoff: "10ms", cap: "50ms" },
});
${more}
`,
  };
}

async function startFeed(url: string, nodeId: string, folder: string) {
  const local = await startLocalNode(clusterNode(url, nodeId, calm));
  const engine = await local.node.engine.open(folder);
  const dispose = async (): Promise<void> => await local.node.close();
  return { ...local, engine, [Symbol.asyncDispose]: dispose };
}

async function connected(port: number): Promise<Sender> {
  for (;;) {
    try {
      return await Sender.to(port);
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
}

const visit = (controlId: string, patient: string): string => adt(controlId, { rest: `PID|1||${patient}` });
const fieldsOf = (message: string, segment: string): readonly string[] =>
  (message.split("\r").find((line) => line.startsWith(segment)) ?? "").split("|");

test.concurrent("a message goes in, through router and handler, and out; and each is acknowledged after its commit", async ({
  expect,
}) => {
  await using database = await createTestDatabase();
  await using lab = await Receiver.listen();
  const port = await freePort();
  await using folder = await ConfigFiles.write(feed(port, lab.port));
  await using a = await startFeed(database.url, "a", folder.path);
  await using sender = await connected(port);
  expect(codeOf(await sender.ask(visit("1", "77")))).toBe("AA 1");
  expect(codeOf(await sender.ask(visit("2", "77")))).toBe("AA 2");
  await expect.poll(() => lab.messages.length).toBe(2);
  expect(lab.messages.map((message) => fieldsOf(message, "PID")[4])).toEqual(["1", "2"]);
  expect(fieldsOf(lab.messages[0] ?? "", "MSH")[4]).toBe("LAB");

  // A resend is answered as the first was, and goes nowhere.
  const again = await sender.ask(visit("2", "77"));
  expect(codeOf(again)).toBe("AA 2");
  const page = { limit: 10 };
  const { book } = a.node.engine;
  await expect
    .poll(async () => (await book.search({}, page)).items.map(({ controlId, statuses }) => [controlId, statuses]))
    .toEqual([
      ["2", ["processed", "sent"]],
      ["1", ["processed", "sent"]],
    ]);
  expect(lab.messages).toHaveLength(2);

  // Another message under its control id is one: acknowledged and dropped, it would be lost.
  expect(codeOf(await sender.ask(visit("2", "88")))).toBe("AA 2");
  expect(codeOf(await sender.ask(visit("2", "88")))).toBe("AA 2");
  expect(codeOf(await sender.ask(visit("3", "77")))).toBe("AA 3");
  await expect.poll(() => lab.messages.map((message) => fieldsOf(message, "PID")[3])).toEqual(["77", "77", "88", "77"]);
});

test.concurrent("what is filtered, unrouted, malformed or makes a handler throw has its status, and holds nobody up", async ({
  expect,
}) => {
  await using database = await createTestDatabase();
  await using lab = await Receiver.listen();
  const port = await freePort();
  await using folder = await ConfigFiles.write(feed(port, lab.port));
  await using a = await startFeed(database.url, "a", folder.path);
  await using sender = await connected(port);
  expect(codeOf(await sender.ask(visit("1", "nobody")))).toBe("AA 1");
  expect(codeOf(await sender.ask(visit("2", "77").replace("ADT^A01", "ORU^R01")))).toBe("AA 2");
  expect(codeOf(await sender.ask(visit("3", "broken")))).toBe("AA 3");
  expect(codeOf(await sender.ask("this is no HL7"))).toMatch(/^AR/);
  expect(codeOf(await sender.ask(visit("5", "77")))).toBe("AA 5");
  await expect.poll(() => lab.messages.length).toBe(1);
  const { book } = a.node.engine;
  await expect
    .poll(async () => (await book.search({}, { limit: 10 })).items.map(({ statuses }) => statuses))
    .toEqual([["processed", "sent"], ["error"], ["error"], ["unrouted"], ["filtered"]]);
  const letters = await a.engine.queue.deadLetters();
  expect(
    letters
      .map(({ reason }) => reason)
      .toSorted()
      .toReversed(),
  ).toEqual([
    expect.stringMatching(/^malformed: It begins with/),
    expect.stringMatching(/^handler "to-lab" failed at feed\.ts:\d+:\d+: no such ward$/),
  ]);
});

test.concurrent("a message can be replayed as it came, edited, or to one destination; a replay is a message of its own", async ({
  expect,
}) => {
  await using database = await createTestDatabase();
  await using lab = await Receiver.listen();
  const port = await freePort();
  await using folder = await ConfigFiles.write(feed(port, lab.port));
  await using a = await startFeed(database.url, "a", folder.path);
  await using sender = await connected(port);
  expect(codeOf(await sender.ask(visit("1", "77")))).toBe("AA 1");
  await expect.poll(() => lab.messages.length).toBe(1);
  const { replaying, book } = a.node.engine;
  expect(await replaying?.replay("1", {})).toEqual({ id: "2", replayOf: "1" });
  await replaying?.replay("1", { to: "lab", body: Buffer.from(visit("9", "88")) });
  await expect
    .poll(() => lab.messages.map((message) => [fieldsOf(message, "MSH")[9], fieldsOf(message, "PID")[3]]))
    .toEqual([
      ["1", "77"],
      ["1", "77"],
      ["9", "88"],
    ]);
  expect((await book.search({}, { limit: 10 })).items.map(({ id, replayOf }) => [id, replayOf])).toEqual([
    ["3", "1"],
    ["2", "1"],
    ["1", null],
  ]);
  const { signal } = new AbortController();
  const found = await replaying?.matching({ connection: "adt-in" }, { limit: 10 }, signal);
  expect(found).toEqual({ ids: ["3", "2", "1"], next: null });
  expect(await replaying?.replayAll(found?.ids ?? [], "lab", signal)).toEqual({
    outcomes: [
      { id: "4", replayOf: "1" },
      { id: "5", replayOf: "2" },
      { id: "6", replayOf: "3" },
    ],
    left: [],
  });
  await expect(replaying?.replay("99", {})).rejects.toMatchObject({ code: "NOT_FOUND" });
  await expect(replaying?.replay("1", { to: "nowhere" })).rejects.toMatchObject({ code: "NOT_FOUND" });
});

test.concurrent("only the leader listens; a standby takes over with what handlers remember, and in order", async ({
  expect,
}) => {
  await using database = await createTestDatabase();
  await using lab = await Receiver.listen();
  const port = await freePort();
  await using folder = await ConfigFiles.write(feed(port, lab.port));
  const a = await startFeed(database.url, "a", folder.path);
  await using first = await connected(port);
  expect(codeOf(await first.ask(visit("1", "77")))).toBe("AA 1");
  await using b = await startFeed(database.url, "b", folder.path);
  const states = async () => (await b.engine.connections()).map(({ name, state }) => [name, state]);
  await expect.poll(states).toEqual([
    ["adt-in", "running"],
    ["lab", "running"],
  ]);
  await a.node.close();
  await first.closed;
  await using second = await connected(port);
  expect(codeOf(await second.ask(visit("2", "77")))).toBe("AA 2");
  expect(codeOf(await second.ask(visit("1", "77")))).toBe("AA 1");
  await expect.poll(() => lab.messages.map((message) => fieldsOf(message, "PID")[4])).toEqual(["1", "2"]);
});

test.concurrent("what is being sent while the role is given up is finished, and the next leader does not send it again", async ({
  expect,
}) => {
  await using database = await createTestDatabase();
  await using lab = await Receiver.listen();
  const port = await freePort();
  await using folder = await ConfigFiles.write(feed(port, lab.port));
  await using a = await startFeed(database.url, "a", folder.path);
  await using first = await connected(port);
  await using b = await startFeed(database.url, "b", folder.path);
  const { promise: sending, resolve: begun } = promiseOfTest();
  lab.onFrame = (body, sender) => {
    begun();
    setTimeout(() => sender.send(ackFor(body)), 50);
  };
  expect(codeOf(await first.ask(visit("1", "77")))).toBe("AA 1");
  await sending;
  await a.node.role("engine").stepDown({ to: "b" });
  await using second = await connected(port);
  expect(codeOf(await second.ask(visit("2", "77")))).toBe("AA 2");
  await expect.poll(() => lab.messages.map((message) => fieldsOf(message, "MSH")[9])).toEqual(["1", "2"]);
  expect(b.node.role("engine").gate.isLeader).toBe(true);
});

test.concurrent("what a handover cuts off unanswered is not sent again where a person is to be asked first", async ({
  expect,
}) => {
  await using database = await createTestDatabase();
  await using lab = await Receiver.listen();
  const port = await freePort();
  const files = feed(port, lab.port);
  const asking = { "feed.ts": files["feed.ts"]?.replace("retry: {", 'unconfirmed: "stop",\n  retry: {') ?? "" };
  await using folder = await ConfigFiles.write(asking);
  await using a = await startFeed(database.url, "a", folder.path);
  await using first = await connected(port);
  await using b = await startFeed(database.url, "b", folder.path);
  const { promise: sending, resolve: begun } = promiseOfTest();
  lab.onFrame = () => begun();
  expect(codeOf(await first.ask(visit("1", "77")))).toBe("AA 1");
  await sending;
  await a.node.role("engine").stepDown({ to: "b" });
  await using _second = await connected(port);
  const view = async () => (await b.engine.connections()).find(({ name }) => name === "lab");
  await expect.poll(view, { timeout: 10_000 }).toMatchObject({
    state: "stopped",
    reason: expect.stringContaining("sent, but not confirmed"),
  });
  expect(lab.messages).toHaveLength(1);
  lab.onFrame = (body, sender) => sender.send(ackFor(body));
  await b.engine.steering.start("lab");
  await expect.poll(() => lab.messages.map((message) => fieldsOf(message, "MSH")[9])).toEqual(["1", "1"]);
});

test.concurrent("a connection that was stopped stays so for the next leader, and its messages wait in order", async ({
  expect,
}) => {
  await using database = await createTestDatabase();
  await using lab = await Receiver.listen();
  const port = await freePort();
  await using folder = await ConfigFiles.write(feed(port, lab.port));
  const a = await startFeed(database.url, "a", folder.path);
  await using sender = await connected(port);
  expect(await a.engine.steering.stop("lab", "tester", "maintenance")).toMatchObject({ state: "stopped" });
  expect(codeOf(await sender.ask(visit("1", "77")))).toBe("AA 1");
  expect(codeOf(await sender.ask(visit("2", "77")))).toBe("AA 2");
  await expect.poll(async () => (await a.engine.queue.depth())["outbound"]).toBe(2);
  await using b = await startFeed(database.url, "b", folder.path);
  await a.node.close();
  await using _second = await connected(port);
  expect(lab.messages).toEqual([]);
  expect((await b.engine.connections()).find(({ name }) => name === "lab")).toMatchObject({
    state: "stopped",
    reason: "stopped by tester: maintenance",
  });
  await b.engine.steering.start("lab");
  await expect.poll(() => lab.messages.map((message) => fieldsOf(message, "MSH")[9])).toEqual(["1", "2"]);
  await b.engine.steering.stop("adt-in", "tester", "no more");
  await expect(Sender.to(port)).rejects.toThrow();
  await b.engine.steering.start("adt-in");
  await using third = await connected(port);
  expect(codeOf(await third.ask(visit("3", "77")))).toBe("AA 3");
});

test.concurrent("a reload is heard by the other node; a folder that is not sound changes nothing, and is told", async ({
  expect,
}) => {
  await using database = await createTestDatabase();
  await using lab = await Receiver.listen();
  const port = await freePort();
  await using folder = await ConfigFiles.write(feed(port, lab.port));
  await using other = await ConfigFiles.write(feed(port, lab.port));
  await using a = await startFeed(database.url, "a", folder.path);
  await using sender = await connected(port);
  await using b = await startFeed(database.url, "b", other.path);
  const changed = feed(port, lab.port, "")["feed.ts"]?.replace('"LAB"', '"LAB2"') ?? "";
  await folder.write({ "feed.ts": changed });
  await other.write({ "feed.ts": "export const nothing = ;" });
  const report = await a.node.engine.convergence?.reload(false);
  expect(report).toMatchObject({ dryRun: false, version: 1 });
  expect(codeOf(await sender.ask(visit("1", "77")))).toBe("AA 1"); // The connection was not interrupted.
  await expect.poll(() => lab.messages.map((message) => fieldsOf(message, "MSH")[4])).toEqual(["LAB2"]);
  const configs = async () =>
    (await a.node.engine.book.configs()).map(({ nodeId, version, error }) => [nodeId, version, error]);
  await expect.poll(configs).toEqual([
    ["a", 1, null],
    ["b", 0, expect.stringContaining("feed.ts")],
  ]);
  await other.write({ "feed.ts": changed });
  await a.node.engine.convergence?.reload(false);
  await expect.poll(configs).toEqual([
    ["a", 2, null],
    ["b", 2, null],
  ]);
  expect(b.node.configVersion).toBe(2);
});

test.concurrent("what waits for a connection that only the last leader knew waits until the next one knows it too", async ({
  expect,
}) => {
  await using database = await createTestDatabase();
  await using lab = await Receiver.listen();
  const port = await freePort();
  const old = feed(port, lab.port);
  const added = { "feed.ts": old["feed.ts"]?.replaceAll('"lab"', '"new-lab"') ?? "" };
  await using folder = await ConfigFiles.write(old);
  await using other = await ConfigFiles.write(old);
  await using a = await startFeed(database.url, "a", folder.path);
  await using sender = await connected(port);
  await using b = await startFeed(database.url, "b", other.path);
  // The other node cannot load what it hears of, and stays with what it has.
  await folder.write(added);
  await other.write({ "feed.ts": "export const nothing = ;" });
  await a.node.engine.convergence?.reload(false);
  await a.engine.steering.stop("new-lab", "tester", "maintenance");
  expect(codeOf(await sender.ask(visit("1", "77")))).toBe("AA 1");
  expect(codeOf(await sender.ask(visit("2", "77")))).toBe("AA 2");
  await expect.poll(async () => (await a.engine.queue.depth())["outbound"]).toBe(2);
  await a.node.close();
  await using _second = await connected(port);
  expect(b.node.engine.convergence?.isBehind).toBe(true);
  expect((await b.engine.queue.depth())["outbound"]).toBe(2);
  expect(await b.engine.queue.deadLetters()).toEqual([]);
  await other.write(added);
  await b.node.engine.convergence?.reload(false);
  await b.engine.steering.start("new-lab");
  await expect.poll(() => lab.messages.map((message) => fieldsOf(message, "MSH")[9])).toEqual(["1", "2"]);
  expect(await b.engine.queue.deadLetters()).toEqual([]);
});
