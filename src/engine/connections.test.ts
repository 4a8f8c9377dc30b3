import { pino } from "pino";
import { expect, it } from "vitest";
import { promiseOfTest } from "../../test/integration/mllp-scene.js";
import { systemClock } from "../election/clock.js";
import { HoldfastError } from "../errors.js";
import type { ConnectionBook, ConnectionRow } from "../store/connection-contract.js";
import { Connections } from "./connections.js";
import { defineInbound, defineOutbound } from "./definition.js";
import { graphOf } from "./graph.js";
import type { Source } from "./transports/transport.js";

const mllp = { kind: "mllp", host: "127.0.0.1", port: 2_575 } as const;
const away = new HoldfastError("DATABASE_AWAY", "the database is away");
const fence = { role: "engine", epoch: 3n } as never;

/** Connections over a book that is away while the test says so. */
function scene() {
  const rows = new Map<string, ConnectionRow>();
  const database = { isAway: false };
  const open = new Set<string>();
  let late: Promise<void> | null = null;
  /** The next answer comes when the test says so. */
  const answerLate = () => {
    const { promise, resolve } = promiseOfTest();
    late = promise;
    return resolve;
  };
  const asked = async (): Promise<void> => {
    await Promise.resolve();
    if (database.isAway) throw away;
  };
  const book: ConnectionBook = {
    all: async () => {
      await asked();
      return [...rows.values()];
    },
    setStopped: async (_fence, name, stopped) => {
      await asked();
      const row = { name, state: null, epoch: null, toldAt: null };
      rows.set(name, { ...row, stopped: stopped === null ? null : { ...stopped, at: 0 } });
      const answer = late;
      late = null;
      await answer;
    },
    tell: async () => await Promise.resolve(),
  };
  const openSource = ({ name }: { readonly name: string }): Source => ({
    get state() {
      return { kind: open.has(name) ? "listening" : "stopped", reason: null, connections: 0, since: 0 } as const;
    },
    start: async () => await Promise.resolve(void open.add(name)),
    stop: async () => await Promise.resolve(void open.delete(name)),
  });
  const graph = graphOf([
    defineInbound({ name: "adt-in", router: "adt", transport: mllp }),
    defineOutbound({ name: "lab", transport: mllp, unconfirmed: "stop" }),
  ]);
  const connections = new Connections({
    book,
    graph: () => graph,
    openSource,
    openDestination: () => ({
      state: { kind: "idle", reason: null, since: 0 },
      send: async () => await Promise.resolve({ kind: "delivered", reply: null }),
      close: async () => await Promise.resolve(),
    }),
    clock: systemClock,
    log: pino({ level: "silent" }),
    outboundsChanged: () => undefined,
  });
  return { connections, rows, database, open, answerLate };
}

it("a stop that could not be stored is none: what is shown as stopped does not run on, nor the other way round", async () => {
  const { connections, database, open } = scene();
  await connections.read(fence);
  await connections.run();
  database.isAway = true;
  await expect(connections.stop("adt-in", "tester", "maintenance")).rejects.toBe(away);
  expect(open.has("adt-in")).toBe(true);
  expect(connections.views()).toMatchObject([
    { name: "adt-in", state: "running" },
    { name: "lab", state: "running" },
  ]);
  await expect(connections.stop("lab", "tester", "maintenance")).rejects.toBe(away);
  expect(connections.isStopped("lab")).toBe(false);
});

it("what waits for a person waits also where the database is away when that begins, and is stored when it is back", async () => {
  const { connections, rows, database } = scene();
  await connections.read(fence);
  database.isAway = true;
  const stored = connections.halt("lab", "no answer came");
  expect(connections.isStopped("lab")).toBe(true);
  database.isAway = false;
  // The lanes are read again meanwhile.
  await connections.read(fence);
  expect(connections.isStopped("lab")).toBe(true);
  await stored;
  expect(rows.get("lab")?.stopped).toMatchObject({ by: "holdfast", reason: "no answer came" });
});

it("what was stopped stays so while the connections are being read again", async () => {
  const { connections } = scene();
  await connections.read(fence);
  await connections.stop("lab", "tester", "maintenance");
  const reading = connections.read(fence);
  expect(connections.isStopped("lab")).toBe(true);
  await reading;
  expect(connections.isStopped("lab")).toBe(true);
});

it.each(["stop", "start"])(
  "a stop and a start whose answers cross leave the connection as the later one says (%s)",
  async (later) => {
    const { connections, rows, open, answerLate } = scene();
    await connections.read(fence);
    if (later === "stop") await connections.stop("adt-in", "tester", "before");
    await connections.run();
    const release = answerLate();
    const both =
      later === "stop"
        ? [connections.start("adt-in"), connections.stop("adt-in", "tester", "maintenance")]
        : [connections.stop("adt-in", "tester", "maintenance"), connections.start("adt-in")];
    // Whoever does not wait for its turn is answered first.
    await new Promise((resolve) => setImmediate(resolve));
    release();
    await Promise.all(both);
    const isStopped = later === "stop";
    expect(rows.get("adt-in")?.stopped !== null).toBe(isStopped);
    expect(connections.isStopped("adt-in")).toBe(isStopped);
    expect(open.has("adt-in")).toBe(!isStopped);
  },
);

it("what waits for a person is not started by whoever asked before", async () => {
  const { connections, rows, answerLate } = scene();
  await connections.read(fence);
  const release = answerLate();
  const started = connections.start("lab");
  const halted = connections.halt("lab", "no answer came");
  release();
  await Promise.all([started, halted]);
  expect(connections.isStopped("lab")).toBe(true);
  expect(rows.get("lab")?.stopped).toMatchObject({ by: "holdfast" });
});

it("nothing is opened before it is known what was stopped, and a stop is not forgotten by who reads that meanwhile", async () => {
  const { connections, open, answerLate } = scene();
  await connections.run();
  expect(open.size).toBe(0);
  await connections.read(fence);
  await connections.run();
  const release = answerLate();
  const earlier = connections.start("lab");
  const reading = connections.read(fence);
  const stopping = connections.stop("adt-in", "tester", "maintenance");
  release();
  await Promise.all([earlier, reading]);
  expect(connections.isStopped("adt-in")).toBe(true);
  await stopping;
  expect(open.has("adt-in")).toBe(false);
});
