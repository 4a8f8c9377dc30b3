import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { BulkReceiver } from "../support/bulk-receiver.js";
import type { Files } from "../support/config-folder.js";
import { EngineCluster } from "../support/engine-cluster.js";
import { violationsOf } from "../support/engine-history.js";
import { EngineLoad } from "../support/engine-load.js";
import { freePort } from "../support/free-ports.js";
import { createTestDatabase, withClient } from "../support/postgres.js";
import { codeOf, Receiver, Sender } from "./mllp-scene.js";

const isLong = process.env.HOLDFAST_LONG === "1";
const waves = isLong ? 10 : 2;
const megabyte = 1_048_576;

/** Ports for senders that behave badly, beside those of the wards: one with tight limits, and one that takes large messages. */
interface StormPorts {
  readonly tight: number;
  readonly wide: number;
}

/** What is kept goes on as it came; what is hushed goes to a receiver that never answers; the rest goes nowhere. */
function stormFiles(host: string, ports: StormPorts, store: BulkReceiver, mute: Receiver): Files {
  const mllp = (more: object): string => JSON.stringify({ kind: "mllp", ...more });
  const tight = {
    host,
    port: ports.tight,
    maxConnections: 400,
    maxFrameBytes: megabyte,
    maxWaitingBytes: 16 * megabyte,
    maxUncommitted: 10,
    readTimeout: "30s",
    writeTimeout: "5s",
  };
  const wide = { host, port: ports.wide, maxFrameBytes: 64 * megabyte };
  return {
    "storm.ts": `
import { defineHandler, defineInbound, defineOutbound, defineRouter, send } from "holdfast/engine";

export const tight = defineInbound({ name: "tight", router: "storm", transport: ${mllp(tight)} });
export const wide = defineInbound({ name: "wide", router: "storm", transport: ${mllp(wide)} });
export const storm = defineRouter({
  name: "storm",
  handlers: ["keep", "hush"],
  route: (message) => (message.type === "ADT^A01" ? ["keep"] : message.type === "ADT^A02" ? ["hush"] : []),
});
export const keep = defineHandler({
  name: "keep",
  outbounds: ["store"],
  handle: (message) => [send("store", message.hl7().set("MSH-5", "STORE"))],
});
export const hush = defineHandler({ name: "hush", outbounds: ["mute"], handle: (message) => [send("mute", message.body)] });
export const store = defineOutbound({ name: "store", transport: ${mllp({ host: "127.0.0.1", port: store.port })} });
export const mute = defineOutbound({ name: "mute", transport: ${mllp({ host: "127.0.0.1", port: mute.port, replyTimeout: "10m" })} });
`,
  };
}

async function startStorm(url: string) {
  const ports = { tight: await freePort(), wide: await freePort() };
  const store = await BulkReceiver.listen();
  const mute = await Receiver.listen();
  mute.onFrame = () => undefined;
  const cluster = await EngineCluster.start(url, {
    usualTimings: true,
    more: (host) => stormFiles(host, ports, store, mute),
  });
  const { place, process: leader } = await cluster.leader();
  const { host } = cluster.addressOf("ward-1", place);
  const dispose = async (): Promise<void> => {
    await cluster[Symbol.asyncDispose]();
    await store[Symbol.asyncDispose]();
    await mute[Symbol.asyncDispose]();
  };
  return {
    cluster,
    leader,
    store,
    mute,
    /** A connection to the leader's port. They go on sending when they are told that it is over. */
    call: async (port: keyof StormPorts) => await Sender.to(ports[port], { host, allowHalfOpen: true }),
    [Symbol.asyncDispose]: dispose,
  };
}

type Storm = Awaited<ReturnType<typeof startStorm>>;

const say = (controlId: string, { type = "ORU^R01", charset = "", receiver = "HUB", rest = "" } = {}): string =>
  `MSH|^~\\&|STORM|SEA|${receiver}|HOLDFAST|20260131||${type}|${controlId}|P|2.5||||||${charset}\rPID|1||77\r${rest}`;

/** All roles, so that nobody has led for a moment and come back. */
async function leasesOf(url: string): Promise<unknown> {
  return await withClient(url, async (client) => {
    return (await client.query("SELECT role, holder, epoch FROM holdfast.leases ORDER BY role")).rows;
  });
}

/** The memory that a process has in use, at its highest from now on. */
function watchMemory(pid: number) {
  const residentBytes = (): number => Number(readFileSync(`/proc/${pid}/statm`, "utf8").split(" ")[1]) * 4_096;
  const before = residentBytes();
  let peak = before;
  const look = (): number => {
    peak = Math.max(peak, residentBytes());
    return peak;
  };
  const timer = setInterval(look, 20);
  return {
    /** What it has taken beyond what it had. */
    grownBy: (): number => look() - before,
    [Symbol.dispose]: () => clearInterval(timer),
  };
}

/** 200 connections, of which some leave in the middle of a message, some without waiting, some with a reset. */
async function openAndClose({ call }: Storm, wave: number): Promise<void> {
  const callers = Array.from({ length: 200 }, async (_, at) => {
    const sender = await call("tight");
    const id = `w${wave}.${at}`;
    if (at % 4 === 0) sender.write(`\x0b${say(id).slice(0, 30)}`);
    else sender.send(say(id));
    if (at % 4 > 1) expect(codeOf(await sender.next())).toBe(`AA ${id}`);
    if (at % 4 === 1) sender.socket.resetAndDestroy();
    else sender.socket.destroy();
    await sender.closed;
  });
  await Promise.all(callers);
}

/** They send on and on, and read nothing of what is answered. */
async function readNothing({ call }: Storm, wave: number): Promise<void> {
  const deaf = Array.from({ length: 10 }, async (_, at) => {
    const sender = await call("tight");
    sender.socket.pause();
    for (let count = 0; count < 100; count += 1) sender.send(say(`d${wave}.${at}.${count}`));
    await drained(sender);
    return sender;
  });
  for (const sender of await Promise.all(deaf)) sender.socket.destroy();
}

/** A message without an end, on ten connections; whoever is told that it is too long goes on all the same. */
async function neverEnd({ call }: Storm, wave: number): Promise<void> {
  const chunk = Buffer.alloc(65_536, "x");
  const floods = Array.from({ length: 10 }, async (_, at) => {
    const sender = await call("tight");
    sender.write(`\x0b${say(`e${wave}.${at}`)}`);
    for (let sent = 0; sent < 50 * megabyte && !sender.socket.destroyed; sent += chunk.length) {
      if (!sender.socket.write(chunk)) await drained(sender);
    }
    sender.socket.destroy();
  });
  await Promise.all(floods);
}

async function byteByByte({ call }: Storm, wave: number): Promise<void> {
  const slow = Array.from({ length: 20 }, async (_, at) => {
    await using sender = await call("tight");
    const id = `b${wave}.${at}`;
    for (const byte of Buffer.from(`\x0b${say(id)}\x1c\r`)) {
      await new Promise<void>((resolve) => sender.socket.write(Uint8Array.of(byte), () => resolve()));
    }
    expect(codeOf(await sender.next())).toBe(`AA ${id}`);
  });
  await Promise.all(slow);
}

/** What looks like the end of a frame and is none, and charsets that are not what they are said to be. Nothing is changed by it. */
async function strangeBytes({ call, store }: Storm, wave: number): Promise<void> {
  const strange = [
    { charset: "", rest: "NTE|1||before\x1cafter\r" },
    { charset: "", rest: "NTE|1||before\x1c\x0bafter\x1c\nthe end\r" },
    { charset: "UNICODE UTF-8", rest: "NTE|1||M\xfcller \xff\xfe\xc3\r" },
    { charset: "KLINGON", rest: "NTE|1||\x80\x81\x82\r" },
    { charset: "8859/1", rest: "NTE|1||\xe2\x82\xac\x00\x01\r" },
    { charset: "~ISO IR87", rest: "NTE|1||\x1b$B\x1b(B\x1b\r" },
  ];
  for (const [at, { charset, rest }] of strange.entries()) {
    await using sender = await call("tight");
    const id = `c${wave}.${at}`;
    expect(codeOf(await sender.ask(say(id, { type: "ADT^A01", charset, rest })))).toBe(`AA ${id}`);
    const whole = say(id, { type: "ADT^A01", receiver: "STORE", charset, rest });
    const isThere = (): boolean => store.messages.some((body) => body.equals(Buffer.from(whole, "latin1")));
    await expect.poll(isThere, { message: `${id} as it was sent` }).toBe(true);
  }
}

/** One of 50 MB is more than this port takes. */
async function tooLarge({ call }: Storm, wave: number): Promise<void> {
  await using sender = await call("tight");
  sender.send(say(`t${wave}`, { rest: `NTE|1||${"x".repeat(50 * megabyte)}\r` }));
  expect(codeOf(await sender.next())).toBe(`AR t${wave}`);
}

async function drained(sender: Sender): Promise<void> {
  if (!sender.socket.writableNeedDrain) return;
  await new Promise<void>((resolve) => {
    sender.socket.once("drain", resolve);
    void sender.closed.then(resolve);
  });
}

test("senders that do everything wrong cost the leader neither its lease nor its memory, and the others notice nothing", async ({
  annotate,
}) => {
  await using database = await createTestDatabase();
  await using storm = await startStorm(database.url);
  const { cluster, leader, mute } = storm;
  const leases = await leasesOf(database.url);
  const place = (await cluster.leader()).place;
  const waysTo = (ward: string) => [cluster.addressOf(ward, place)];
  const load = new EngineLoad({ senders: 10, rate: 40, waysTo, ackTimeoutMs: 30_000 });
  await cluster.receivers.more(40, 30_000);
  // From now on a receiver that never answers has something to answer.
  await using hushed = await storm.call("tight");
  for (let n = 0; n < 20; n += 1) expect(codeOf(await hushed.ask(say(`h${n}`, { type: "ADT^A02" })))).toBe(`AA h${n}`);
  using memory = watchMemory(leader.pid);
  for (let wave = 0; wave < waves; wave += 1) {
    const acts = [openAndClose, readNothing, neverEnd, byteByByte, strangeBytes, tooLarge];
    await Promise.all(acts.map((act) => act(storm, wave))).catch((error: unknown) => {
      throw new Error(`Wave ${wave}, of which the leader says:\n${leader.output.slice(-8_000)}`, { cause: error });
    });
  }
  const grownBy = memory.grownBy();
  await load.stop();
  await expect.poll(() => violationsOf(cluster.historyOf(load))).toEqual([]);
  const answers = load.acknowledgements.map(({ tookMs }) => tookMs).toSorted((one, other) => one - other);
  const slowest = answers.at(-1) ?? Number.NaN;
  await annotate(
    `memory grew by ${(grownBy / megabyte).toFixed(0)} MB at most; ` +
      `${answers.length} others were answered within ${slowest.toFixed(0)} ms`,
  );
  // Nobody else was cut off, or had to send anything twice.
  expect({ connects: load.connects, resends: load.resends }).toEqual({ connects: load.senders, resends: 0 });
  expect(mute.messages).toHaveLength(1);
  expect(await leasesOf(database.url)).toEqual(leases);
  // 1 GB came in, of which 16 MB may be held; the rest is what waits to be collected.
  expect(grownBy).toBeLessThan(250 * megabyte);
}, 300_000);

test("a message of 50 MB goes through where it is allowed, while the others go on and the leader keeps its lease", async ({
  annotate,
}) => {
  await using database = await createTestDatabase();
  await using storm = await startStorm(database.url);
  const { cluster, leader, store } = storm;
  const leases = await leasesOf(database.url);
  const place = (await cluster.leader()).place;
  const waysTo = (ward: string) => [cluster.addressOf(ward, place)];
  const load = new EngineLoad({ senders: 10, rate: 40, waysTo, ackTimeoutMs: 30_000 });
  await cluster.receivers.more(40, 30_000);
  using memory = watchMemory(leader.pid);
  await using sender = await storm.call("wide");
  const rest = `NTE|1||${"The patient. ".repeat(4_000_000)}\r`;
  const since = performance.now();
  expect(codeOf(await sender.ask(say("large", { type: "ADT^A01", rest })))).toBe("AA large");
  const answeredMs = performance.now() - since;
  await expect.poll(() => store.messages.length, { timeout: 60_000 }).toBe(1);
  const whole = Buffer.from(say("large", { type: "ADT^A01", receiver: "STORE", rest }), "latin1");
  expect(store.messages[0]?.equals(whole)).toBe(true);
  const arrivedMs = performance.now() - since;
  const grownBy = memory.grownBy();
  await load.stop();
  const slowest = Math.max(...load.acknowledgements.map(({ tookMs }) => tookMs));
  await annotate(
    `memory grew by ${(grownBy / megabyte).toFixed(0)} MB at most; it was acknowledged after ${answeredMs.toFixed(0)} ms and ` +
      `arrived after ${arrivedMs.toFixed(0)} ms; ${load.acknowledgements.length} others were answered within ${slowest.toFixed(0)} ms`,
  );
  await expect.poll(() => violationsOf(cluster.historyOf(load))).toEqual([]);
  expect({ connects: load.connects, resends: load.resends }).toEqual({ connects: load.senders, resends: 0 });
  expect(await leasesOf(database.url)).toEqual(leases);
  // It is in memory a few times: as it comes, on its way to the database and back, and as it goes.
  expect(grownBy).toBeLessThan(12 * 50 * megabyte);
}, 300_000);
