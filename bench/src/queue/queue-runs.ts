import pg from "pg";
import { BenchProcess } from "../bench-process.js";
import type { ProgramName } from "../programs.js";
import type { BenchServer } from "../server.js";
import type { QueueLoad, Timing } from "./queue-load.js";

/** Messages a second; and how many of the whole load came out of order. */
export interface Rates {
  readonly inversions: number;
  readonly endToEnd: number;
  readonly enqueue: number;
  readonly process: number;
}

export interface Subject {
  readonly program: ProgramName;
  readonly load: QueueLoad;
  /** Whether it is measured from outside, through the HTTP server of a node in a process of its own. */
  readonly served?: boolean;
  /** How many messages go through another queue of the same process first. */
  readonly warmUp: number;
  /** The Node that runs it, where this one is too old. */
  readonly execPath?: string;
  /** A transaction that began before the first message and stays open until the end: nothing that dies meanwhile goes away. */
  readonly heldTransaction?: boolean;
}

/** The slowest of all, the ordered peer, takes a minute for its part when the machine is busy. */
const patienceMs = 600_000;

let databases = 0;

/** One run: a database and a process of its own, warmed up; both are gone afterwards, so that no run burdens the next. */
export async function runOnce(server: BenchServer, subject: Subject): Promise<Rates> {
  const run = await openRun(server, subject);
  try {
    return await run.measure(subject.load);
  } finally {
    await run.close();
  }
}

export interface OpenRun {
  measure(load: QueueLoad): Promise<Rates>;
  close(): Promise<void>;
}

export async function openRun(server: BenchServer, subject: Subject): Promise<OpenRun> {
  const { program, load, warmUp, execPath, served = false, heldTransaction = false } = subject;
  databases += 1;
  const name = `queue_${databases}`;
  await server.session.query(`create database ${name}`);
  const url = new URL(server.url);
  url.pathname = name;
  const holder = heldTransaction ? await holdTransaction(url.href) : null;
  const node = served ? new BenchProcess("servingNode", url.href) : null;
  const address = node === null ? {} : { address: await addressOf(node) };
  const child = new BenchProcess(program, url.href, execPath === undefined ? {} : { execPath });
  const ask = (queue: string, one: QueueLoad): Promise<Timing> =>
    child.ask({ kind: "measure", queue, load: one, ...address }, "measured", patienceMs);
  await child.loaded();
  await ask("warm-up", { ...load, messages: warmUp });
  return {
    measure: async (one) => {
      // What others have written is on disk before the clock starts.
      await server.session.query("checkpoint");
      const rates = ratesOf(one, await ask("bench", one));
      if (program === "holdfastQueue" && rates.inversions > 0)
        throw new Error(`${rates.inversions} messages came out of order`);
      return rates;
    },
    close: async () => {
      child.kill();
      node?.kill();
      await holder?.end();
      await server.session.query(`drop database ${name} with (force)`);
    },
  };
}

async function addressOf(node: BenchProcess): Promise<string> {
  await node.loaded();
  return (await node.ask({ kind: "serve" }, "serving")).url;
}

async function holdTransaction(url: string): Promise<pg.Client> {
  const holder = new pg.Client({ connectionString: url, application_name: "held transaction" });
  holder.on("error", () => undefined);
  await holder.connect();
  // Both a snapshot and a number of its own, which are what vacuum minds.
  await holder.query("begin isolation level repeatable read");
  await holder.query("select pg_current_xact_id()");
  return holder;
}

function ratesOf({ messages }: QueueLoad, { enqueueMs, processMs, inversions }: Timing): Rates {
  const perSecond = (ms: number): number => (messages / ms) * 1000;
  return {
    inversions,
    endToEnd: perSecond(enqueueMs + processMs),
    enqueue: perSecond(enqueueMs),
    process: perSecond(processMs),
  };
}
