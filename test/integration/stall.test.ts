import { expect, test } from "vitest";
import { waitUntil } from "../../src/store/embedded/wait-until.js";
import { clusterNode, expectNoOverlap, heirOf, historyOf, leaseOf, quick, quickTtlMs } from "../support/election.js";
import { NodeProcess } from "../support/node-process.js";
import { createTestDatabase, withClient } from "../support/postgres.js";

const slackMs = 3_000;
/** A node that is silent for so short a time is not called dead, and keeps its sessions. */
const spared = { ...quick, nodeTimeoutSeconds: 60 };
const ms = (from: bigint, to: bigint) => Number(to - from) / 1e6;

/** Resolves when no session of the node runs a statement: a frozen process sends no more, so its row stays as it is. */
async function settled(url: string, nodeId: string): Promise<void> {
  const quiet = await withClient(url, (client) =>
    waitUntil(async () => {
      const { rows } = await client.query(
        "SELECT FROM pg_stat_activity WHERE application_name LIKE 'holdfast % ' || $1 AND state = 'active' AND datname = current_database()",
        [nodeId],
      );
      return rows.length === 0;
    }, 5_000),
  );
  expect(quiet).toBe(true);
}

/** Resolves between two beats, so that a process frozen now leaves no request unanswered. */
async function betweenBeats(url: string): Promise<void> {
  const between = await withClient(url, (client) =>
    waitUntil(async () => {
      const { rows } = await client.query<{ age: number }>(
        "SELECT extract(epoch FROM clock_timestamp() - renewed_at)::float8 * 1000 AS age FROM holdfast.leases WHERE role = 'scheduler'",
      );
      const age = rows[0]?.age ?? 0;
      return age > 40 && age < 120;
    }, 20_000),
  );
  expect(between).toBe(true);
}

/** Waits by the database's clock until the lease has been over for so long. */
async function leaseOver(url: string, byMs: number): Promise<void> {
  const over = await withClient(url, (client) =>
    waitUntil(async () => {
      const { rows } = await client.query<{ over: boolean }>(
        "SELECT clock_timestamp() > expires_at + $1 * interval '1 ms' AS over FROM holdfast.leases WHERE role = 'scheduler'",
        [byMs],
      );
      return rows[0]?.over === true;
    }, 20_000),
  );
  expect(over).toBe(true);
}

test.concurrent("a frozen leader is deposed when its lease has run out, not before, and can write no more when it thaws", async () => {
  await using database = await createTestDatabase();
  await withClient(database.url, (client) => client.query("CREATE TABLE written (by_node text)"));
  await using first = await NodeProcess.start({ settings: clusterNode(database.url, "first", spared) });
  const { epoch = 0n } = await first.said("elected");
  await using second = await NodeProcess.start({ settings: clusterNode(database.url, "second", spared) });
  expect(await heirOf(database.url)).toBe("second");
  const writing = first.ask("openWrite", { sql: "INSERT INTO written VALUES ('first')" });
  const refused = expect(writing).rejects.toMatchObject({ code: "STALE_EPOCH" });
  await first.said("written");

  const frozenAt = first.kill("SIGSTOP");
  await settled(database.url, "first");
  const frozen = await leaseOf(database.url);
  expect(frozen).toMatchObject({ holder: "first", epoch });
  const elected = await second.said("elected");
  expect(elected).toMatchObject({ reason: "expired", epoch: epoch + 1n });
  const takeover = (await historyOf(database.url)).at(-1);
  expect(takeover).toMatchObject({ event: "elected", reason: "expired", nodeId: "second", previousNodeId: "first" });
  expect(takeover?.at).toBeGreaterThanOrEqual(frozen.expiresAt);
  const oneBeatMs = quick.heartbeatSeconds * 1_200;
  expect(ms(frozenAt, elected.at)).toBeLessThan(quickTtlMs + oneBeatMs + slackMs);

  await second.said("gate", ({ open }) => open === true);
  first.kill("SIGCONT");
  await first.said("lost", (report) => report.epoch === epoch);
  expect(await first.ask("gate")).toEqual({ open: false });
  await first.ask("finishWrite");
  await refused;
  await expect(first.ask("query", { sql: "INSERT INTO written VALUES ('late')" })).rejects.toMatchObject({
    code: "NOT_LEADER",
  });
  const { rows } = await withClient(database.url, (client) => client.query("SELECT by_node FROM written"));
  expect(rows).toEqual([]);
  await expectNoOverlap(first, second);
});

test.concurrent("the sessions of a frozen leader are ended by its successor, so that no lock of its stays, and nothing of it commits", async () => {
  await using database = await createTestDatabase();
  await withClient(database.url, (client) => client.query("CREATE TABLE written (by_node text)"));
  await using first = await NodeProcess.start({ settings: clusterNode(database.url, "first", quick) });
  const { epoch = 0n } = await first.said("elected");
  await using second = await NodeProcess.start({ settings: clusterNode(database.url, "second", quick) });
  await heirOf(database.url);
  const writing = first.ask("openWrite", { sql: "INSERT INTO written VALUES ('first')" });
  // Its session is gone; whether it hears of that before it sends its COMMIT or after is a matter of moments.
  const gone = { code: expect.stringMatching(/^(DATABASE_AWAY|UNKNOWN_OUTCOME)$/) as string };
  const refused = expect(writing).rejects.toMatchObject(gone);
  await first.said("written");
  first.kill("SIGSTOP");
  expect(await second.said("elected")).toMatchObject({ epoch: epoch + 1n });
  await second.logged("ended the sessions of frozen nodes");
  first.kill("SIGCONT");
  await first.said("lost");
  await first.ask("finishWrite");
  await refused;
  const { rows } = await withClient(database.url, (client) => client.query("SELECT by_node FROM written"));
  expect(rows).toEqual([]);
  await expectNoOverlap(first, second);
});

test.concurrent('with on_stall = "hold" nobody takes over from a frozen leader, and it goes on with its epoch when it thaws', async () => {
  await using database = await createTestDatabase();
  const hold = { ...quick, leaderElection: { onStall: "hold" } } as const;
  await using first = await NodeProcess.start({ settings: clusterNode(database.url, "first", hold) });
  const { epoch = 0n } = await first.said("elected");
  await using second = await NodeProcess.start({ settings: clusterNode(database.url, "second", hold) });
  expect(await heirOf(database.url)).toBe("second");
  await first.said("gate", ({ open }) => open === true);

  await betweenBeats(database.url);
  first.kill("SIGSTOP");
  await settled(database.url, "first");
  await leaseOver(database.url, 1_500);
  expect(await leaseOf(database.url)).toMatchObject({ holder: "first", epoch });
  const thawedAt = first.kill("SIGCONT");
  const shut = await first.said("gate", (report) => report.open === false && report.at > thawedAt);
  await first.said("gate", (report) => report.open === true && report.at > shut.at);
  expect((await first.ask<{ open: boolean }>("gate")).open).toBe(true);
  expect(await leaseOf(database.url)).toMatchObject({ holder: "first", epoch });
  expect(first.reports.filter(({ kind }) => kind === "lost")).toEqual([]);
  expect(second.reports.filter(({ kind }) => kind === "elected")).toEqual([]);
  await expectNoOverlap(first, second);
});

test.concurrent('with on_stall = "hold" a frozen leader that dies is succeeded', async () => {
  await using database = await createTestDatabase();
  const hold = { ...quick, leaderElection: { onStall: "hold" } } as const;
  await using first = await NodeProcess.start({ settings: clusterNode(database.url, "first", hold) });
  const { epoch = 0n } = await first.said("elected");
  await using second = await NodeProcess.start({ settings: clusterNode(database.url, "second", hold) });
  expect(await heirOf(database.url)).toBe("second");
  first.kill("SIGSTOP");
  await leaseOver(database.url, 500);
  first.kill("SIGKILL");
  expect(await second.said("elected")).toMatchObject({ epoch: epoch + 1n });
  await expectNoOverlap(first, second);
});

test.concurrent("a leader whose event loop was blocked finds its gate shut at once, before any timer has run", async () => {
  await using database = await createTestDatabase();
  await using first = await NodeProcess.start({ settings: clusterNode(database.url, "first", quick) });
  const { epoch = 0n } = await first.said("elected");
  await first.said("gate", ({ open }) => open === true);
  await using second = await NodeProcess.start({ settings: clusterNode(database.url, "second", quick) });
  await heirOf(database.url);
  const fenceMs = quick.leaderFenceTimeoutSeconds * 1000;
  expect(await first.ask("block", { ms: fenceMs })).toEqual({ before: true, after: false });
  expect(await first.said("lost")).toMatchObject({ epoch, reason: "trust_ran_out" });
  const successor = await Promise.race([
    second.said("elected"),
    first.said("elected", (report) => report.epoch === epoch + 1n),
  ]);
  expect(successor.epoch).toBe(epoch + 1n);
  await expectNoOverlap(first, second);
});

test.concurrent("an event loop blocked for longer than the lease loses it to a standby, and the gates never overlap", async () => {
  await using database = await createTestDatabase();
  await using first = await NodeProcess.start({ settings: clusterNode(database.url, "first", quick) });
  const { epoch = 0n } = await first.said("elected");
  await first.said("gate", ({ open }) => open === true);
  await using second = await NodeProcess.start({ settings: clusterNode(database.url, "second", quick) });
  await heirOf(database.url);
  const blocked = first.ask("block", { ms: quickTtlMs * 2 });
  expect(await second.said("elected")).toMatchObject({ epoch: epoch + 1n, reason: "expired" });
  expect(await blocked).toEqual({ before: true, after: false });
  expect((await first.said("lost")).epoch).toBe(epoch);
  await expectNoOverlap(first, second);
});
