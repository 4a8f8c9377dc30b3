import { setMaxListeners } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { createTestDatabase } from "../support/postgres.js";
import type { HistoryEvent } from "./history.js";
import { judge } from "./judgement.js";
import { SmallRun } from "./small-run.js";
import { duplicateRequests } from "./workloads/duplicate-requests.js";
import { EventReaders } from "./workloads/event-readers.js";
import { JobLoad } from "./workloads/job-load.js";
import { Lanes } from "./workloads/lanes.js";
import { MllpFeed } from "./workloads/mllp-feed.js";
import { flood, slowClients } from "./workloads/pressure.js";
import { Register } from "./workloads/register.js";
import { RolePolls } from "./workloads/role-polls.js";

const expected: readonly HistoryEvent["kind"][] = [
  "elected",
  "lost",
  "gate",
  "write",
  "witness",
  "effect",
  "enqueue",
  "delivery",
  "submit",
  "task",
  "job",
  "tick",
  "mllp_sent",
  "mllp_received",
  "poll",
  "stream",
];
const isTakenIn = (event: HistoryEvent): boolean => event.kind === "enqueue" && event.outcome === "done";

const dist = fileURLToPath(new URL("../../dist", import.meta.url));
const batch = 10;

/** All that clients can do to it at once, while something is taken in. */
async function press(run: SmallRun): Promise<void> {
  const over = new AbortController();
  const { signal } = over;
  setMaxListeners(0, signal);
  const pressing = Promise.all([
    flood(run.scene, signal),
    slowClients(run.scene, signal),
    duplicateRequests(run.scene, 1, signal),
  ]);
  try {
    await run.more(5, (event) => event.kind === "submit" && event.key.startsWith("duplicates-1/"));
  } finally {
    over.abort();
    await pressing;
  }
}

test("every workload tells what it did, through the death of a leader, and no promise is broken", async () => {
  await using database = await createTestDatabase();
  const workloads = [
    new Register(),
    new Lanes({ lanes: 20, perSecond: 40, batch }),
    new JobLoad({ perSecond: 5, agents: 2, submitters: 1 }),
    new MllpFeed({ senders: 3, perSecond: 5 }),
    new RolePolls({ everyMs: 200 }),
    new EventReaders({ readers: 1 }),
  ];
  const { url } = database;
  await using run = await SmallRun.start({ url, dist, size: 3, workloads, longestGapMs: 15_000, batch });
  await run.more(20, isTakenIn);
  await run.kill(await run.leaderOf("writer"));
  await run.more(20, isTakenIn);
  await press(run);
  const history = await run.end();
  const told = new Set(history.map(({ kind }) => kind));
  expect([...expected].filter((kind) => !told.has(kind))).toEqual([]);
  const codes = new Set(history.flatMap((event) => (event.kind === "rejection" ? [event.code] : [])));
  expect([...codes]).toEqual(expect.arrayContaining(["NOT_LEADER", "UNAUTHORIZED", "INVALID_REQUEST", "NOT_FOUND"]));
  const agents = new Set(history.flatMap((event) => (event.kind === "task" ? [event.agent] : [])));
  expect([...agents]).toEqual(expect.arrayContaining(["agent-1", "agent-2", "library-agent"]));
  const broken = judge(history).flatMap(({ violations }) => violations);
  expect(broken).toEqual([]);
}, 240_000);
