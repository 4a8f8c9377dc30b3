import pg from "pg";
import { pino } from "pino";
import { type BenchOptions, roundsOf } from "./bench.js";
import { BenchProcess } from "./bench-process.js";
import { atTheEnd } from "./cleanup.js";
import { Cluster } from "./cluster.js";
import { createNode } from "./holdfast.js";
import { roleName } from "./messages.js";
import { judged, type Result, reported } from "./result.js";
import { type BenchServer, startServer } from "./server.js";
import { median } from "./statistics.js";

/** The figures with a target are taken with so many clients; the others show how it depends on their number. */
const headlineClients = 8;
const otherClients = [1, 4, 16];
const headlinePairs = 40;
const otherPairs = 12;
const blockMs = 300;
const targets = new Map([
  [1, ">= 0.85"],
  [50, ">= 0.92"],
]);
const takeoverRounds = 20;

/** A negative number of rows: so many statements of one row each. */
type Transact = (rows: number) => Promise<unknown>;

/** What the fence costs the transactions that carry it, and what they cost a takeover. */
export async function benchFence(options: BenchOptions): Promise<readonly Result[]> {
  const server = await startServer();
  // Vacuum would meet one kind of block and not the other.
  await server.session.query(
    "create table fenced_rows (id bigint generated always as identity, payload text) with (autovacuum_enabled = off)",
  );
  const rates = await benchRates(server, options);
  const takeovers = await benchTakeovers(server, options);
  return [...rates, ...takeovers];
}

async function benchRates(server: BenchServer, options: BenchOptions): Promise<readonly Result[]> {
  const { transactFenced, transactPlain, stop } = await startWriter(server);
  const results: Result[] = [];
  for (const [rows, target] of targets) {
    for (const clients of [headlineClients, ...otherClients]) {
      const headline = clients === headlineClients;
      const pairs = roundsOf(options, headline ? headlinePairs : otherPairs);
      const measured = await compare(transactFenced, transactPlain, { rows, clients, pairs });
      const name = headline ? `fence_rate_ratio_${rows}_rows` : `fence_rate_ratio_${rows}_rows_${clients}_clients`;
      const peer = `unfenced, ${rows} rows, ${clients} clients: ${measured.plainRate.toFixed(0)} transactions/s`;
      options.progress(`${name}: ${measured.ratio.toFixed(3)} (${peer})`);
      results.push(judged(name, measured.ratio, "x", headline ? target : "reported", peer));
    }
  }
  results.push(await benchStatements(transactFenced, transactPlain, options));
  await stop();
  return results;
}

/** The same 50 rows as many applications write them, a statement each. */
async function benchStatements(fenced: Transact, plain: Transact, options: BenchOptions): Promise<Result> {
  const sizes = { rows: -50, clients: headlineClients, pairs: roundsOf(options, otherPairs) };
  const { ratio, plainRate } = await compare(fenced, plain, sizes);
  const peer = `unfenced, 50 statements, ${headlineClients} clients: ${plainRate.toFixed(0)} transactions/s`;
  options.progress(`fence_rate_ratio_50_statements: ${ratio.toFixed(3)} (${peer})`);
  return reported("fence_rate_ratio_50_statements", ratio, "x", peer);
}

/** A node that leads, and two ways to write over the same connections, with the same number of round trips. */
async function startWriter(server: BenchServer) {
  const pool = new pg.Pool({
    connectionString: server.url,
    max: Math.max(headlineClients, ...otherClients) + 1,
  });
  pool.on("error", () => undefined);
  const node = await createNode({
    store: { url: server.url, pool, schema: "writer" },
    cluster: { enabled: true, name: "writer" },
    logger: pino({ level: "silent" }),
  });
  const stop = async (): Promise<void> => {
    await node.close();
    if (!pool.ended) await pool.end();
  };
  atTheEnd(stop);
  type Term = Parameters<Parameters<ReturnType<typeof node.role>["lead"]>[0]>[0];
  const term = await new Promise<Term>((resolve) => {
    node.role(roleName).lead((elected) => resolve(elected));
  });
  const transactFenced: Transact = (rows) => term.transaction((tx) => insert(tx, rows));
  const transactPlain: Transact = async (rows) => {
    const client = await pool.connect();
    try {
      await client.query("begin");
      await insert(client, rows);
      await client.query("commit");
    } finally {
      client.release();
    }
  };
  return { transactFenced, transactPlain, stop };
}

const payloads = new Map(
  [...targets.keys()].map((rows) => [
    rows,
    Array.from({ length: rows }, (_, n) => `some text of ordinary length, number ${n}`),
  ]),
);

/** One statement however many rows, which leaves the fence the fewest other costs to hide behind. */
async function insert(client: pg.ClientBase, rows: number): Promise<void> {
  if (rows < 0) {
    for (let row = 0; row < -rows; row++) await insert(client, 1);
    return;
  }
  await client.query({
    name: "insert_rows",
    text: "insert into fenced_rows (payload) select * from unnest($1::text[])",
    values: [payloads.get(rows)],
  });
}

/** Short blocks of the two kinds in turn; which of a pair goes first changes. The median of the pairs' ratios. */
async function compare(
  fenced: Transact,
  plain: Transact,
  { rows, clients, pairs }: { readonly rows: number; readonly clients: number; readonly pairs: number },
): Promise<{ readonly ratio: number; readonly plainRate: number }> {
  const rate = (transact: Transact): Promise<number> => rateOf(() => transact(rows), clients);
  await rate(fenced);
  await rate(plain);
  const ratios: number[] = [];
  const plainRates: number[] = [];
  for (let pair = 0; pair < pairs; pair++) {
    const fencedFirst = pair % 2 === 0;
    const first = await rate(fencedFirst ? fenced : plain);
    const second = await rate(fencedFirst ? plain : fenced);
    ratios.push(fencedFirst ? first / second : second / first);
    plainRates.push(fencedFirst ? second : first);
  }
  return { ratio: median(ratios), plainRate: median(plainRates) };
}

/** Transactions a second by so many clients at once. The last of a block counts by what it took past the block's end, too. */
async function rateOf(transact: () => Promise<unknown>, clients: number): Promise<number> {
  let done = 0;
  const from = performance.now();
  const until = from + blockMs;
  await Promise.all(
    Array.from({ length: clients }, async () => {
      while (performance.now() < until) {
        await transact();
        done += 1;
      }
    }),
  );
  return (done / (performance.now() - from)) * 1000;
}

/** Crashes of the leader, in turn with nobody and with 16 clients who commit under its epoch and do not stop. */
async function benchTakeovers(server: BenchServer, options: BenchOptions): Promise<readonly Result[]> {
  const rounds = roundsOf(options, takeoverRounds);
  const cluster = new Cluster(server, { schema: "holdfast", standbys: 2 });
  const load = await new BenchProcess("fencedLoad", server.url).loaded();
  const acquires = { alone: [] as number[], crowded: [] as number[] };
  const failovers = { alone: [] as number[], crowded: [] as number[] };
  for (let round = 0; round < rounds * 2; round++) {
    await cluster.fill();
    await cluster.settled();
    const kind = round % 2 === 0 ? "alone" : "crowded";
    if (kind === "crowded") await load.ask({ kind: "run" }, "running");
    await cluster.pauseAnywhere();
    const { ms, acquireMs } = await cluster.crash();
    acquires[kind].push(acquireMs);
    failovers[kind].push(ms);
    if (kind === "crowded") await load.ask({ kind: "stop" }, "stopped");
    if ((round + 1) % 10 === 0) {
      const figures = `${median(acquires.alone).toFixed(1)} ms alone, ${median(acquires.crowded).toFixed(1)} ms crowded`;
      options.progress(`takeover ${round + 1} of ${rounds * 2}: ${figures}`);
    }
  }
  load.kill();
  await cluster.close();
  const peer = "the same with no such clients";
  return [
    judged("fence_takeover_ratio", median(acquires.crowded) / median(acquires.alone), "x", "<= 5", peer),
    reported("fence_takeover_with_16_clients", median(acquires.crowded), "ms"),
    reported("fence_takeover_with_none", median(acquires.alone), "ms", peer),
    reported("fence_crash_failover_ratio", median(failovers.crowded) / median(failovers.alone), "x", peer),
    reported("fence_crash_failover_with_16_clients", median(failovers.crowded), "ms"),
  ];
}
