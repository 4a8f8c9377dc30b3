import { expect, test } from "vitest";
import { waitUntil } from "../../src/store/embedded/wait-until.js";
import {
  clusterNode,
  crashReason,
  expectNoOverlap,
  heirOf,
  historyOf,
  leaseOf,
  quick,
  quickTtlMs,
} from "../support/election.js";
import { NodeProcess } from "../support/node-process.js";
import { createTestDatabase, withClient } from "../support/postgres.js";

type Cluster = Parameters<typeof clusterNode>[2];

async function start(
  url: string,
  nodeId: string,
  cluster: Cluster = {},
  rest: Partial<Parameters<typeof NodeProcess.start>[0]> = {},
) {
  return await NodeProcess.start({ settings: clusterNode(url, nodeId, cluster), ...rest });
}

const seesLeader = (node: NodeProcess, leaderId: string) =>
  node.said("changed", (report) => report.leaderId === leaderId);

/** Resolves when the node has not been heard of for so long, by the database's clock. */
async function silent(url: string, nodeId: string, seconds: number): Promise<void> {
  const dead = await withClient(url, (client) =>
    waitUntil(async () => {
      const { rows } = await client.query(
        "SELECT FROM holdfast.nodes WHERE node_id = $1 AND last_heartbeat < clock_timestamp() - $2 * interval '1 s'",
        [nodeId, seconds],
      );
      return rows.length === 1;
    }, 20_000),
  );
  expect(dead).toBe(true);
}

test.concurrent("a step-down hands the role to the heir, in order, and the node that stepped down does not grab it back", async () => {
  await using database = await createTestDatabase();
  await using first = await start(database.url, "first", quick);
  await first.said("elected");
  await using second = await start(database.url, "second", quick);
  await heirOf(database.url);
  await first.ask("stepDown");
  expect(await second.said("elected")).toMatchObject({ epoch: 2n, reason: "released" });
  expect(await first.said("lost")).toMatchObject({ epoch: 1n, reason: "stepped_down" });
  expect((await historyOf(database.url)).map(({ event, reason, nodeId }) => [event, reason, nodeId])).toEqual([
    ["elected", "first", "first"],
    ["released", "stepped_down", "first"],
    ["elected", "released", "second"],
  ]);
  await expect(first.ask("stepDown")).rejects.toMatchObject({ code: "NOT_LEADER" });
  await expectNoOverlap(first, second);
});

test.concurrent("a step-down to a named node passes the heir by", async () => {
  await using database = await createTestDatabase();
  await using first = await start(database.url, "first");
  await first.said("elected");
  await using second = await start(database.url, "second");
  expect(await heirOf(database.url)).toBe("second");
  await using third = await start(database.url, "third");
  await seesLeader(third, "first");
  await first.ask("stepDown", { to: "third" });
  expect(await third.said("elected")).toMatchObject({ epoch: 2n, reason: "handover" });
  await seesLeader(second, "third");
  expect(second.reports.filter(({ kind }) => kind === "elected")).toEqual([]);
  await expectNoOverlap(first, second, third);
});

test.concurrent("a node that is not promotable never becomes heir nor leads, but takes a role that is handed to it", async () => {
  await using database = await createTestDatabase();
  await using reserve = await start(database.url, "reserve", { ...quick, promotable: false });
  await using first = await start(database.url, "first", quick);
  expect(await first.said("elected")).toMatchObject({ epoch: 1n });
  await using second = await start(database.url, "second", quick);
  expect(await heirOf(database.url)).toBe("second");
  first.kill("SIGKILL");
  expect(await second.said("elected")).toMatchObject({ epoch: 2n, reason: crashReason() });
  await seesLeader(reserve, "second");
  expect(reserve.reports.filter(({ kind }) => kind === "elected")).toEqual([]);
  await second.ask("stepDown", { to: "reserve" });
  expect(await reserve.said("elected")).toMatchObject({ epoch: 3n, reason: "handover" });
  await expectNoOverlap(first, second, reserve);
});

test.concurrent("a step-down to a node that is unknown, dead or oneself is refused, and the leader leads on", async () => {
  await using database = await createTestDatabase();
  await using first = await start(database.url, "first", quick);
  await first.said("elected");
  await using dead = await start(database.url, "dead", quick);
  dead.kill("SIGSTOP");
  await expect(first.ask("stepDown", { to: "nobody" })).rejects.toMatchObject({ code: "BAD_SETTINGS" });
  await expect(first.ask("stepDown", { to: "first" })).rejects.toMatchObject({ code: "BAD_SETTINGS" });
  await silent(database.url, "dead", quick.nodeTimeoutSeconds);
  await expect(first.ask("stepDown", { to: "dead" })).rejects.toMatchObject({ code: "BAD_SETTINGS" });
  expect(await leaseOf(database.url)).toMatchObject({ holder: "first", epoch: 1n, reservedFor: null });
  expect(first.reports.filter(({ kind }) => kind === "lost")).toEqual([]);
});

test.concurrent("a node with an acquire delay leaves an open lease to others, and takes it later if nobody does", async () => {
  await using database = await createTestDatabase();
  await using first = await start(database.url, "first", quick);
  await first.said("elected");
  await using slow = await start(database.url, "slow", { ...quick, acquireDelaySeconds: 1 });
  await seesLeader(slow, "first");
  const { expiresAt } = await leaseOf(database.url);
  first.kill("SIGSTOP");
  const elected = await slow.said("elected");
  expect(elected).toMatchObject({ epoch: 2n, reason: "expired" });
  expect((await historyOf(database.url)).at(-1)?.at).toBeGreaterThanOrEqual(expiresAt + 1_000);
});

test.concurrent("a pure follower never contends, not even by request, and sees who leads", async () => {
  await using database = await createTestDatabase();
  await using follower = await start(database.url, "follower", { ...quick, leaderElection: { enabled: false } });
  await using first = await start(database.url, "first", quick);
  expect(await first.said("elected")).toMatchObject({ epoch: 1n });
  await seesLeader(follower, "first");
  await expect(first.ask("stepDown", { to: "follower" })).rejects.toMatchObject({
    message: expect.stringContaining("does not contend"),
  });
  await first.ask("stepDown");
  expect(await first.said("elected", ({ epoch }) => epoch === 2n)).toMatchObject({ reason: "released" });
  expect(follower.reports.filter(({ kind }) => kind === "elected")).toEqual([]);
  expect(await follower.ask("gate")).toEqual({ open: false });
});

test.concurrent("a lead function that throws gives the role up, and keeps its node off it for a while", async () => {
  await using database = await createTestDatabase();
  await using sick = await start(database.url, "sick", quick, { roles: [{ name: "scheduler", work: "throws" }] });
  expect(await sick.said("lost")).toMatchObject({ epoch: 1n, reason: "work_failed" });
  await using healthy = await start(database.url, "healthy", quick);
  const elected = await healthy.said("elected");
  expect(elected.reason).toBe("released");
  const history = await historyOf(database.url);
  expect(history.filter(({ reason }) => reason === "work_failed").length).toBeGreaterThanOrEqual(1);
  // The first cool-down lasts a TTL, each further one twice as long.
  const terms = history.filter(({ event, nodeId }) => event === "elected" && nodeId === "sick");
  terms.slice(1).forEach((term, index) => {
    expect(term.at - (terms[index]?.at ?? 0)).toBeGreaterThanOrEqual(quickTtlMs * 2 ** index);
  });
  await expectNoOverlap(sick, healthy);
});

test.concurrent("work that ignores its signal keeps the lease until it lapses: no successor comes early", async () => {
  await using database = await createTestDatabase();
  await using stubborn = await NodeProcess.start({
    settings: { ...clusterNode(database.url, "stubborn", quick), shutdown: { drainTimeoutSeconds: 0.3 } },
    roles: [{ name: "scheduler", work: "stubborn" }],
  });
  await stubborn.said("elected");
  await using second = await start(database.url, "second", quick);
  await heirOf(database.url);
  const before = await leaseOf(database.url);
  await expect(stubborn.ask("stepDown")).rejects.toMatchObject({ code: "DRAINING" });
  expect(await stubborn.said("lost")).toMatchObject({ reason: "drain_overrun" });
  expect(await second.said("elected")).toMatchObject({ epoch: 2n, reason: "expired" });
  const history = await historyOf(database.url);
  expect(history.map(({ event }) => event)).toEqual(["elected", "elected"]);
  expect(history.at(-1)?.at).toBeGreaterThanOrEqual(before.expiresAt);
  await expectNoOverlap(stubborn, second);
});
