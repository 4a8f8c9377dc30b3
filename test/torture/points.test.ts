import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { createTestDatabase } from "../support/postgres.js";
import { judge } from "./judgement.js";
import type { Point } from "./node-order.js";
import { SmallRun } from "./small-run.js";
import { Lanes } from "./workloads/lanes.js";
import { Register } from "./workloads/register.js";

const dist = fileURLToPath(new URL("../../dist", import.meta.url));
const batch = 10;
const points: readonly { readonly role: string; readonly point: Point }[] = [
  { role: "writer", point: "before_transaction" },
  { role: "writer", point: "in_transaction" },
  { role: "writer", point: "in_own_transaction" },
  { role: "writer", point: "before_commit" },
  { role: "writer", point: "after_commit" },
  { role: "writer", point: "in_gate" },
  { role: "queue", point: "in_handler" },
  { role: "queue", point: "before_ack" },
];

test("a node that sleeps or dies at a named point breaks no promise, and what it wakes up to write is refused", async () => {
  await using database = await createTestDatabase();
  const { url } = database;
  const workloads = [new Register(), new Lanes({ lanes: 20, perSecond: 40, batch })];
  await using run = await SmallRun.start({ url, dist, size: 3, workloads, longestGapMs: 15_000, batch });
  for (const { role, point } of points) {
    const leader = await run.leaderOf(role);
    await run.freeze(leader, point, async () => await run.leaderOf(role, leader));
  }
  for (const { role, point } of points) await run.kill(await run.leaderOf(role), point);
  const history = await run.end();
  const refusals = history.flatMap((event) => (event.kind === "write" && event.outcome === "refused" ? [event] : []));
  expect(refusals.map(({ code }) => code)).toEqual(expect.arrayContaining(["NOT_LEADER", "STALE_EPOCH"]));
  expect(judge(history).flatMap(({ violations }) => violations)).toEqual([]);
}, 300_000);
