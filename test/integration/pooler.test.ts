import { expect, test } from "vitest";
import { clusterNode, crashReason, expectNoOverlap, heirOf, historyOf, leaseOf, quick } from "../support/election.js";
import { startLocalNode } from "../support/local-node.js";
import { NodeProcess } from "../support/node-process.js";
import { startPgBouncer } from "../support/pgbouncer.js";
import { createTestDatabase, withClient } from "../support/postgres.js";
import { givesEvidence } from "../support/postgres-version.js";
import { isMissing } from "../support/programs.js";
import { startTcpProxy } from "../support/tcp-proxy.js";

test.skipIf(isMissing("pgbouncer"))(
  "behind PgBouncer in transaction mode a role is led by its lease alone, which the log says",
  async () => {
    await using database = await createTestDatabase();
    await using pooler = await startPgBouncer(database.url);
    const url = pooler.through(database.url);
    await using first = await NodeProcess.start({ settings: clusterNode(url, "first", quick) });
    const { epoch = 0n } = await first.said("elected");
    expect((await first.logged("a pooler stands before the database")).line?.msg).toContain("set store.election_url");
    await using second = await NodeProcess.start({ settings: clusterNode(url, "second", quick) });
    await second.said("changed", ({ leaderId }) => leaderId === "first");
    const before = await leaseOf(database.url);
    expect(before).toMatchObject({ holder: "first", lockSession: null, witnessSession: null });
    first.kill("SIGKILL");
    expect(await second.said("elected")).toMatchObject({ epoch: epoch + 1n, reason: "expired" });
    expect((await historyOf(database.url)).at(-1)?.at).toBeGreaterThanOrEqual(before.expiresAt);
    await second.said("gate", ({ open }) => open === true);
    await second.ask("stepDown");
    expect(await second.said("elected", (report) => report.epoch === epoch + 2n)).toBeDefined();
    await expectNoOverlap(first, second);
  },
);

test.skipIf(isMissing("pgbouncer"))(
  "evidence asked for by name is refused behind PgBouncer, also when the pooler is idle",
  async () => {
    await using database = await createTestDatabase();
    await using pooler = await startPgBouncer(database.url);
    const settings = clusterNode(pooler.through(database.url), "first", { leaderElection: { takeover: "evidence" } });
    await expect(startLocalNode(settings)).rejects.toMatchObject({
      code: "POOLER_DETECTED",
      message: expect.stringContaining("store.election_url"),
    });
  },
);

test.skipIf(isMissing("pgbouncer"))(
  "with a direct election_url crashes are told by evidence where the server gives it, and fenced writes go through PgBouncer",
  async () => {
    await using database = await createTestDatabase();
    await using pooler = await startPgBouncer(database.url);
    await withClient(database.url, (client) => client.query("CREATE TABLE written (port int)"));
    const settings = (nodeId: string) =>
      clusterNode(
        pooler.through(database.url),
        nodeId,
        { leaderElection: { takeover: "evidence" } },
        { electionUrl: database.url },
      );
    await using first = await NodeProcess.start({ settings: settings("first") });
    const { epoch = 0n } = await first.said("elected");
    await using second = await NodeProcess.start({ settings: settings("second") });
    expect(await heirOf(database.url)).toBe("second");
    await first.ask("query", { sql: "INSERT INTO written VALUES (1)" });
    expect(await first.ask("query", { sql: "SELECT port FROM written" })).toEqual([{ port: 1 }]);
    const before = await leaseOf(database.url);
    first.kill("SIGKILL");
    expect(await second.said("elected")).toMatchObject({ epoch: epoch + 1n, reason: crashReason() });
    const electedAt = (await historyOf(database.url)).at(-1)?.at ?? 0;
    expect(electedAt < before.expiresAt).toBe(givesEvidence());
    await expectNoOverlap(first, second);
  },
);

test.runIf(givesEvidence())(
  "behind a TCP proxy evidence counts after a grace of 250 ms, which the log says",
  async () => {
    await using database = await createTestDatabase();
    const { hostname, port } = new URL(database.url);
    await using proxy = await startTcpProxy({ host: hostname, port: Number(port) });
    const url = proxy.through(database.url);
    await using first = await NodeProcess.start({ settings: clusterNode(url, "first") });
    const { epoch = 0n } = await first.said("elected");
    await first.logged("a proxy or NAT stands before the database");
    await using second = await NodeProcess.start({ settings: clusterNode(url, "second") });
    expect(await heirOf(database.url)).toBe("second");
    await first.said("gate", ({ open }) => open === true);
    const before = await leaseOf(database.url);
    const killedAt = first.kill("SIGKILL");
    const elected = await second.said("elected");
    expect(elected).toMatchObject({ epoch: epoch + 1n, reason: "evidence" });
    expect(Number(elected.at - killedAt) / 1e6).toBeGreaterThanOrEqual(250);
    expect((await historyOf(database.url)).at(-1)?.at).toBeLessThan(before.expiresAt);
    await expectNoOverlap(first, second);
  },
);
