import { expect, test } from "vitest";
import { clusterNode, expectNoOverlap, heirOf, historyOf, leaseOf, trusted } from "../support/election.js";
import { NodeProcess } from "../support/node-process.js";
import { startIn, startTestServer, withClient } from "../support/postgres.js";
import { startReplica } from "../support/replica.js";

test("after the promotion of a replica that lost the last epoch no token repeats, and nobody leads until old trust has run out", async () => {
  await using primary = await startTestServer();
  await using first = await NodeProcess.start({ settings: clusterNode(primary.url, "first", trusted) });
  expect(await first.said("elected")).toMatchObject({ epoch: 1n });
  await using replica = await startReplica(primary);
  await replica.caughtUp();
  await replica.stop();

  // The replica misses this election.
  await using second = await NodeProcess.start({ settings: clusterNode(primary.url, "second", trusted) });
  await heirOf(primary.url);
  await first.ask("stepDown");
  expect(await second.said("elected")).toMatchObject({ epoch: 2n });
  await second.said("gate", ({ open }) => open === true);
  await primary.crash();

  // It comes up behind the same address, at first as the standby that it was.
  await using promoted = await startIn(replica.dataDir, {}, primary.port);
  expect(await leaseOf(promoted.url)).toMatchObject({ epoch: 1n, holder: "first" });
  const promotedAt = Date.now();
  const floor = BigInt(Math.floor(promotedAt / 1000)) << 21n;
  await withClient(promoted.url, (client) => client.query("SELECT pg_promote(true, 20)"));

  const isNew = ({ epoch = 0n }) => epoch > 2n;
  const elected = await Promise.race([first.said("elected", isNew), second.said("elected", isNew)]);
  const history = await historyOf(promoted.url);
  const quarantine = history.find(({ event }) => event === "quarantined");
  const election = history.at(-1);
  expect(quarantine).toMatchObject({ reason: "database_changed", nodeId: "first" });
  expect(quarantine?.epoch).toBeGreaterThanOrEqual(floor);
  expect(election).toMatchObject({ event: "elected", epoch: elected.epoch });
  expect(elected.epoch).toBe((quarantine?.epoch ?? 0n) + 1n);
  const ttlMs = trusted.leaderLeaseTtlSeconds * 1_000;
  expect(election?.at).toBeGreaterThanOrEqual(promotedAt + ttlMs);
  // The quarantine's own line is written just after the instant that it begins at.
  expect((election?.at ?? 0) - (quarantine?.at ?? 0)).toBeGreaterThan(ttlMs - 1_000);
  expect(history.filter(({ event }) => event === "elected").map(({ epoch }) => epoch)).toEqual([1n, elected.epoch]);
  const lost = await second.said("lost", ({ epoch }) => epoch === 2n);
  expect(["trust_ran_out", "superseded", "database_changed"]).toContain(lost.reason);
  await expectNoOverlap(first, second);
});

test("a leader that reaches the promoted replica in time is told that the database changed, and loses its term", async () => {
  await using primary = await startTestServer();
  // Trust that outlives the whole failover of the database, so that only the changed identity can end it.
  const patient = {
    heartbeatSeconds: 0.5,
    leaderFenceTimeoutSeconds: 15,
    leaderLeaseTtlSeconds: 18,
    nodeTimeoutSeconds: 10,
  };
  await using first = await NodeProcess.start({ settings: clusterNode(primary.url, "first", patient) });
  expect(await first.said("elected")).toMatchObject({ epoch: 1n });
  await first.said("gate", ({ open }) => open === true);
  await using replica = await startReplica(primary);
  await replica.caughtUp();
  await replica.stop();
  await primary.crash();
  await using promoted = await startIn(replica.dataDir, {}, primary.port);
  await withClient(promoted.url, (client) => client.query("SELECT pg_promote(true, 20)"));
  expect(await first.said("lost")).toMatchObject({ epoch: 1n, reason: "database_changed" });
  await first.said("changed", ({ epoch = 0n, leaderId }) => epoch > 1n && leaderId === null);
  expect(await first.ask("gate")).toEqual({ open: false });
  expect(await historyOf(promoted.url)).toContainEqual(expect.objectContaining({ event: "quarantined" }));
});
