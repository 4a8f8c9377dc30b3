import { expect, test } from "vitest";
import { Player, postgresHarness } from "../contract/harness.js";
import { eventsOf, failed, heartbeat, JobLeader, leaseOrder, result, submission } from "../contract/job-leader.js";
import { createLogin, migratedBy } from "../support/login-role.js";
import { withClient } from "../support/postgres.js";

test("nodes that own nothing lead jobs: submit, lease, renew, report, lose, cancel, redrive, compact and read", async () => {
  await using migrator = await createLogin("migrator");
  await using role = await createLogin("node");
  await using reader = await createLogin("reader");
  await using database = await migratedBy(migrator, role, reader);
  await using harness = await postgresHarness({ database, url: role.at(database.url) });
  await using player = await Player.join(harness, "first");
  const leader = await JobLeader.elect(player);
  const { book, fence } = leader;
  const names = ["done", "dead", "back", "lost", "cancelled"];
  await leader.do(
    ...names.map((jobId) => submission(jobId, { maxAttempts: 1, idempotencyKey: jobId })),
    heartbeat("ann"),
    leaseOrder("l1", { ttlMs: 1_000 }),
  );
  expect(
    await leader.do(
      result("done", 1),
      result("dead", 1, { outcome: failed() }),
      { kind: "renew", leaseId: "l1", agent: "ann", ttlMs: 1_000, progress: [{ jobId: "lost", progress: 1 }] },
      { kind: "give_back", agent: "ann", leaseId: null, jobIds: ["back"] },
      { kind: "cancel", jobId: "cancelled" },
      submission("other", { idempotencyKey: "done" }),
      { kind: "remove_agent", agent: "ann" },
    ),
  ).toMatchObject([
    { state: "succeeded" },
    { state: "dead" },
    { kind: "renewed" },
    { jobIds: ["back"] },
    { kind: "cancelled" },
    { kind: "existing", jobId: "done" },
    { kind: "removed" },
  ]);
  await harness.advance(2_000);
  expect((await leader.ripen()).lost).toMatchObject([{ jobId: "lost", state: "dead" }]);
  expect(await leader.do({ kind: "redrive", jobId: "dead" })).toEqual([{ kind: "redriven" }]);
  expect((await book.jobs({ state: "dead" }, { limit: 9 })).jobs).toMatchObject([{ jobId: "lost" }]);
  expect((await book.standing()).counts).toMatchObject({ queued: 2, dead: 1, cancelled: 1, succeeded: 1 });
  expect(await eventsOf(book)).toContain("job.dead lost ann");
  const rules = { states: ["succeeded"], jobsOlderThanMs: 0, eventsOlderThanMs: 0, agentsOlderThanMs: 0 } as const;
  expect(await book.compact(fence, { ...rules, from: 0, limit: 100 })).toMatchObject({ jobs: 1, agents: 1 });
});

test("nodes that own nothing do the cluster's upkeep, and a reader wipes no traces", async () => {
  await using migrator = await createLogin("migrator");
  await using role = await createLogin("node");
  await using reader = await createLogin("reader");
  await using database = await migratedBy(migrator, role, reader);
  await using harness = await postgresHarness({ database, url: role.at(database.url) });
  await using player = await Player.join(harness, "first");
  const { fence } = await JobLeader.elect(player);
  const { store } = player;
  await store.snapshots.save("copy");
  const round = { processes: [{ incarnation: "x", nodeId: "x", text: "" }], retired: ["y"], takenIn: ["z"] };
  await store.metrics.keep(fence, { ...round, totals: "t", nodes: "n", pointsKeptMs: 1_000 });
  expect(await store.metrics.totals()).toMatchObject({ text: "t" });
  expect(await store.metrics.copies()).toHaveLength(1);
  expect(await store.compaction.forgetHistory(fence, 1, 9)).toBe(0);
  expect(await store.compaction.forgetAudit(fence, 1, 9)).toBe(0);
  expect(await store.compaction.forgetDemands(fence, -1, 9)).toBe(0);
  await store.registry.tidy({ nodeTimeoutMs: 1, markDead: true, forgetAfterMs: 1e9, historyDays: 1, auditDays: 1 });
  const wiping = withClient(reader.at(database.url), (client) => client.query("select holdfast.forget_audit(1, 9)"));
  await expect(wiping).rejects.toMatchObject({ code: "42501" });
});

test("a reader sees no payload, no result and no event", async () => {
  await using migrator = await createLogin("migrator");
  await using role = await createLogin("node");
  await using reader = await createLogin("reader");
  await using database = await migratedBy(migrator, role, reader);
  for (const table of [
    "jobs",
    "job_leases",
    "job_totals",
    "job_demands",
    "events",
    "event_stream",
    "agents",
    "metric_points",
  ]) {
    const refused = withClient(reader.at(database.url), (client) => client.query(`select from holdfast.${table}`));
    await expect(refused).rejects.toMatchObject({ code: "42501" });
  }
});
