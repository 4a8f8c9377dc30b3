import { setTimeout as pause } from "node:timers/promises";
import type pg from "pg";
import { type BenchOptions, roundsOf } from "../bench.js";
import type { BenchProcess } from "../bench-process.js";
import { judged, type Result } from "../result.js";
import type { BenchServer } from "../server.js";
import { median } from "../statistics.js";
import { type EngineRun, openEngine } from "./engine-run.js";
import type { SearchFilter } from "./search-filter.js";
import { storeMessages } from "./stored-messages.js";

const firstPage = 50;
const usualSearches = 15;
const usualPairs = 8;
/** A person who looks for something, and another one. */
const searchEveryMs = 500;
const lookMs = 250;
/** The leader indexes whole runs: the last messages wait for the next one. */
const longestTail = 5_000;
const patienceMs = 1_800_000;

/** How long the first page of every filter takes over a million messages, and what searching takes from the intake. */
export async function benchSearch(
  server: BenchServer,
  messages: number,
  options: BenchOptions,
): Promise<readonly Result[]> {
  const stored = messages * 50;
  // What is older than the history that is kept would be forgotten at once.
  const firstAt = new Date(Date.now() - stored * 1000);
  const run = await openEngine(server, 1, async (session) => {
    await isThere(session, "select to_regclass('holdfast.engine_connections') is not null as there");
    await storeMessages(session, stored, firstAt);
    options.progress(`${stored} messages are stored`);
  });
  const indexed = `select coalesce(max(last_id), 0) >= ${stored - longestTail} as there from holdfast.engine_word_runs`;
  await isThere(run.session, indexed);
  options.progress("their words are indexed");
  const filters = filtersOf(stored, firstAt);
  const pages = await benchPages(run.node, filters, options);
  const intake = await benchIntake(run, messages, Object.values(filters), options);
  await run.close();
  return [...pages, intake];
}

async function isThere(session: pg.Client, question: string): Promise<void> {
  const until = performance.now() + patienceMs;
  while (performance.now() < until) {
    const { rows } = await session.query<{ there: boolean }>(question);
    if (rows[0]?.there === true) return;
    await pause(lookMs);
  }
  throw new Error(`waited in vain for: ${question}`);
}

/** Each filter by itself, with a match and without, and some together. */
function filtersOf(stored: number, firstAt: Date): Readonly<Record<string, SearchFilter>> {
  const middle = firstAt.getTime() + (stored / 2) * 1000;
  return {
    none: {},
    time: { from: middle, until: middle + 3_600_000 },
    time_without_match: { from: Date.UTC(2020, 0, 1), until: Date.UTC(2020, 0, 2) },
    connection: { connection: "feed-7" },
    connection_without_match: { connection: "nobody" },
    type: { type: "ORU^R01" },
    type_without_match: { type: "ORU^R99" },
    control_id: { controlId: `C${Math.ceil(stored / 3)}` },
    control_id_without_match: { controlId: "none" },
    status_received: { status: "received" },
    status_routed: { status: "routed" },
    status_processed: { status: "processed" },
    status_sent: { status: "sent" },
    status_filtered: { status: "filtered" },
    status_unrouted: { status: "unrouted" },
    status_error: { status: "error" },
    common_word: { text: "hosp" },
    rare_word: { text: "family7" },
    word_of_one: { text: `C${Math.ceil(stored / 3)}` },
    word_without_match: { text: "nobodyhasthis" },
    word_and_type: { text: "family7", type: "ORU^R01" },
    word_and_status: { text: "family7", status: "processed" },
  };
}

async function benchPages(
  node: BenchProcess,
  filters: Readonly<Record<string, SearchFilter>>,
  options: BenchOptions,
): Promise<readonly Result[]> {
  const times = new Map<string, number[]>();
  // In turn, so that no filter has all of a bad moment.
  for (let round = 0; round < roundsOf(options, usualSearches); round++) {
    for (const [name, filter] of Object.entries(filters)) {
      const { ms, found } = await searched(node, filter);
      if (name.endsWith("without_match") !== (found === 0) && !isPassing(filter)) {
        throw new Error(`the search for ${name} found ${found} messages`);
      }
      times.set(name, [...(times.get(name) ?? []), ms]);
    }
  }
  return [...times].map(([name, each]) => {
    options.progress(`first page by ${name}: ${median(each).toFixed(0)} ms (longest ${Math.max(...each).toFixed(0)})`);
    return judged(`engine_search_${name}`, median(each), "ms", "<= 200");
  });
}

/** What waits in a stage at this moment may be nothing. */
const isPassing = ({ status }: SearchFilter): boolean => status === "received" || status === "routed";

async function searched(node: BenchProcess, filter: SearchFilter) {
  return await node.ask({ kind: "search", filter, limit: firstPage }, "searched");
}

/** Blocks with and without searches by turns: the ratio is that of neighbours. */
async function benchIntake(
  run: EngineRun,
  messages: number,
  filters: readonly SearchFilter[],
  options: BenchOptions,
): Promise<Result> {
  const block = { messages: Math.ceil(messages / 5), senders: 20, perSecond: null, delivers: true };
  const rateOf = async (): Promise<number> => (block.messages / (await run.exchange(block)).ackedMs) * 1000;
  await rateOf();
  const ratios: number[] = [];
  const idle: number[] = [];
  for (let pair = 0; pair < roundsOf(options, usualPairs); pair++) {
    const searching = async (): Promise<number> => await whileSearching(run.node, filters, rateOf);
    const order = pair % 2 === 0 ? [rateOf, searching] : [searching, rateOf];
    const rates = [await order[0]?.(), await order[1]?.()].map((rate) => rate ?? Number.NaN);
    const [alone = Number.NaN, disturbed = Number.NaN] = pair % 2 === 0 ? rates : rates.toReversed();
    idle.push(alone);
    ratios.push(disturbed / alone);
  }
  const words = `two searches a second, over none: ${median(idle).toFixed(0)} messages/s`;
  options.progress(`taken in while searching: ${median(ratios).toFixed(2)} of the rate without (${words})`);
  return judged("engine_intake_while_searching_ratio", median(ratios), "x", ">= 0.9", words);
}

async function whileSearching<Answer>(
  node: BenchProcess,
  filters: readonly SearchFilter[],
  work: () => Promise<Answer>,
): Promise<Answer> {
  const over = new AbortController();
  const looking = (async (): Promise<void> => {
    for (let count = 0; !over.signal.aborted; count++) {
      const filter = filters[count % filters.length];
      if (filter !== undefined) await searched(node, filter);
      await pause(searchEveryMs, undefined, { signal: over.signal }).catch(() => undefined);
    }
  })();
  try {
    return await work();
  } finally {
    over.abort();
    await looking;
  }
}
