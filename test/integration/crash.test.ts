import { expect, test } from "vitest";
import { clusterNode, expectNoOverlap, heirOf, historyOf, leaseOf, quick } from "../support/election.js";
import { NodeProcess } from "../support/node-process.js";
import { createTestDatabase, withClient } from "../support/postgres.js";
import { givesEvidence } from "../support/postgres-version.js";

test.runIf(givesEvidence())(
  "when the leader is killed, its heir takes over by evidence before the lease could have run out",
  async () => {
    await using database = await createTestDatabase();
    await using first = await NodeProcess.start({ settings: clusterNode(database.url, "first") });
    await first.said("elected");
    await using second = await NodeProcess.start({ settings: clusterNode(database.url, "second") });
    expect(await heirOf(database.url)).toBe("second");
    const before = await leaseOf(database.url);
    first.kill("SIGKILL");
    const elected = await second.said("elected");
    expect(elected).toMatchObject({ epoch: before.epoch + 1n, reason: "evidence" });
    const history = await historyOf(database.url);
    expect(history.at(-1)).toMatchObject({
      event: "elected",
      reason: "evidence",
      epoch: before.epoch + 1n,
      nodeId: "second",
      previousNodeId: "first",
    });
    expect(history.at(-1)?.at).toBeLessThan(before.expiresAt);
    await second.said("gate", ({ open }) => open === true);
    await expectNoOverlap(first, second);
  },
);

test.runIf(!givesEvidence())(
  "before PostgreSQL 15 the successor of a killed leader waits for the end of its lease",
  async () => {
    await using database = await createTestDatabase();
    await using first = await NodeProcess.start({ settings: clusterNode(database.url, "first", quick) });
    const { epoch = 0n } = await first.said("elected");
    await using second = await NodeProcess.start({ settings: clusterNode(database.url, "second", quick) });
    expect(await heirOf(database.url)).toBe("second");
    first.kill("SIGKILL");
    const before = await leaseOf(database.url);
    expect(await second.said("elected")).toMatchObject({ epoch: epoch + 1n, reason: "expired" });
    expect((await historyOf(database.url)).at(-1)?.at).toBeGreaterThanOrEqual(before.expiresAt);
    await second.said("gate", ({ open }) => open === true);
    await expectNoOverlap(first, second);
  },
);

test.runIf(givesEvidence())("a leader that is killed under load is succeeded by evidence each time", async () => {
  await using database = await createTestDatabase();
  await withClient(database.url, (client) => client.query("CREATE TABLE written (n int)"));
  const nodes = new Map<string, NodeProcess>();
  const start = async (id: string) => {
    const node = await NodeProcess.start({ settings: clusterNode(database.url, id, {}, { poolSize: 16 }) });
    nodes.set(node.id, node);
    return node;
  };
  try {
    let leader = await start("node-0");
    await leader.said("elected");
    for (let round = 1; round <= 10; round += 1) {
      const heir = await start(`node-${round}`);
      expect(await heirOf(database.url)).toBe(heir.id);
      await leader.ask("load", { sql: "INSERT INTO written VALUES (1)", clients: 16 });
      await leader.ask("query", { sql: "SELECT 1" });
      leader.kill("SIGKILL");
      expect(await heir.said("elected")).toMatchObject({ reason: "evidence", epoch: BigInt(round + 1) });
      leader = heir;
    }
    await expectNoOverlap(...nodes.values());
  } finally {
    for (const node of nodes.values()) await node[Symbol.asyncDispose]();
  }
});
