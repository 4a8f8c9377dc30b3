import pg from "pg";
import { BenchProcess } from "../bench-process.js";
import { cpuSecondsOf, ownCpuSecondsOf } from "../cpu-time.js";
import type { BenchServer } from "../server.js";
import { writeGraph } from "./engine-graph.js";
import type { EngineLoad, Exchange } from "./engine-load.js";

const patienceMs = 600_000;
const lookMs = 20;

/** Processor time for each message, in microseconds: of the node, of the whole server, and of whoever sends and receives. */
export interface CpuPerMessage {
  readonly node: number;
  readonly database: number;
  readonly peers: number;
}

/** A node with its graph in a database of its own, and whoever sends to it and receives from it. */
export interface EngineRun {
  readonly node: BenchProcess;
  readonly session: pg.Client;
  /** Sends a load; where it is to be delivered, until the database says that all of it is finished. */
  exchange(load: EngineLoad): Promise<Exchange & { readonly cpu: CpuPerMessage }>;
  close(): Promise<void>;
}

let databases = 0;

export async function openEngine(
  server: BenchServer,
  interfaces: number,
  prepare: (session: pg.Client, url: string) => Promise<void> = async () => undefined,
): Promise<EngineRun> {
  databases += 1;
  const name = `engine_${databases}`;
  await server.session.query(`create database ${name}`);
  const url = new URL(server.url);
  url.pathname = name;
  const session = new pg.Client({ connectionString: url.href });
  session.on("error", () => undefined);
  await session.connect();
  const peers = await new BenchProcess("mllpPeers", url.href).loaded();
  const { ports: receivers } = await peers.ask({ kind: "receive", interfaces }, "receiving");
  const { folder, ports } = await writeGraph(receivers);
  const node = await new BenchProcess("engineNode", url.href).loaded();
  await prepare(session, url.href);
  await node.ask({ kind: "openGraph", folder }, "opened");
  const spent = async (): Promise<CpuPerMessage> => {
    const [ofNode, ofServer, ofPeers] = await Promise.all([
      ownCpuSecondsOf(node.pid),
      cpuSecondsOf(server.pid),
      ownCpuSecondsOf(peers.pid),
    ]);
    return { node: ofNode ?? Number.NaN, database: ofServer ?? Number.NaN, peers: ofPeers ?? Number.NaN };
  };
  return {
    node,
    session,
    exchange: async (load) => {
      // What others have written is on disk before the clock starts.
      await server.session.query("checkpoint");
      const cpuFrom = await spent();
      const exchanged = await peers.ask({ kind: "exchange", ports, load }, "exchanged", patienceMs);
      await finished(session);
      const cpuTo = await spent();
      const cpu = (of: keyof CpuPerMessage): number => ((cpuTo[of] - cpuFrom[of]) * 1e6) / load.messages;
      return { ...exchanged, cpu: { node: cpu("node"), database: cpu("database"), peers: cpu("peers") } };
    },
    close: async () => {
      for (const child of [node, peers]) child.kill();
      await session.end();
      await server.session.query(`drop database ${name} with (force)`);
    },
  };
}

/** What receivers have acknowledged is settled a moment later. Asked when the clock has stopped. */
async function finished(session: pg.Client): Promise<void> {
  for (;;) {
    const { rows } = await session.query<{ unfinished: boolean }>(
      "select exists (select from holdfast.lanes where queue = 'engine' and holdfast.lane_tail(lanes) > done) as unfinished",
    );
    if (rows[0]?.unfinished === false) return;
    await new Promise((resolve) => setTimeout(resolve, lookMs));
  }
}
