import { Client } from "pg";
import { expect, test } from "vitest";
import { waitUntil } from "../../src/store/embedded/wait-until.js";
import { clusterNode, expectNoOverlap, heirOf, historyOf, leaseOf, quick } from "../support/election.js";
import { NodeProcess, type Report } from "../support/node-process.js";
import { createTestDatabase, withClient } from "../support/postgres.js";

type OnStall = "hold" | "depose";

/** Of the frozen node's row, so that the reaping node cannot have looked at an older one. */
const reapedSinceStale = `
  SELECT FROM pg_stat_activity a, holdfast.nodes n
  WHERE n.node_id = 'frozen' AND a.datname = current_database() AND a.state = 'idle'
    AND a.application_name LIKE 'holdfast witness % reaper' AND a.query LIKE '%.reap(%'
    AND a.query_start > n.last_heartbeat + $1 * interval '1 s'`;

/** Resolves when the reaper has looked for stale nodes, and found this one among them. */
async function reaped(url: string): Promise<void> {
  const looked = await withClient(url, (client) =>
    waitUntil(async () => (await client.query(reapedSinceStale, [quick.nodeTimeoutSeconds])).rows.length === 1, 20_000),
  );
  expect(looked).toBe(true);
}

/** Resolves between two beats, so that a process frozen now leaves no request unanswered. */
async function betweenBeats(url: string, role: string): Promise<void> {
  const between = await withClient(url, (client) =>
    waitUntil(async () => {
      const { rows } = await client.query<{ age: number }>(
        "SELECT extract(epoch FROM clock_timestamp() - renewed_at)::float8 * 1000 AS age FROM holdfast.leases WHERE role = $1",
        [role],
      );
      const age = rows[0]?.age ?? 0;
      return age > 40 && age < 120;
    }, 20_000),
  );
  expect(between).toBe(true);
}

/** How many of the sessions that the role's row names live. */
async function livingSessions(url: string, role: string): Promise<number> {
  const { lockSession, witnessSession } = await leaseOf(url, role);
  const { rows } = await withClient(url, (client) =>
    client.query("SELECT FROM unnest($1::text[]) s(ref) WHERE holdfast.session_alive(ref)", [
      [lockSession, witnessSession],
    ]),
  );
  return rows.length;
}

/** A node that leads one role and is heir of another, whose leader would end its sessions once it is frozen. */
async function startPair(url: string, onStall: OnStall) {
  const start = (nodeId: string, role: string, cluster: Parameters<typeof clusterNode>[2]) =>
    NodeProcess.start({ settings: clusterNode(url, nodeId, cluster), roles: [{ name: role, work: "idle" }] });
  const reaper = await start("reaper", "theirs", quick);
  await reaper.said("elected");
  const frozen = await start("frozen", "mine", { ...quick, leaderElection: { onStall } });
  const { epoch = 0n } = await frozen.said("elected");
  await frozen.said("gate", ({ open }) => open === true);
  await frozen.ask("contend", { name: "theirs", work: "idle" });
  expect(await heirOf(url, "theirs")).toBe("frozen");
  return { reaper, frozen, epoch };
}

test.concurrent('a frozen node that leads a role by on_stall = "hold" keeps its sessions, though it is stale and heir of another role', async () => {
  await using database = await createTestDatabase();
  const { reaper, frozen, epoch } = await startPair(database.url, "hold");
  await using _reaper = reaper;
  await using _frozen = frozen;
  await reaper.ask("contend", { name: "mine", work: "idle" });
  expect(await heirOf(database.url, "mine")).toBe("reaper");
  await betweenBeats(database.url, "mine");
  frozen.kill("SIGSTOP");
  await reaped(database.url);
  expect(await livingSessions(database.url, "mine")).toBe(2);
  expect(reaper.reports.filter(({ line }) => line?.msg.startsWith("ended the sessions"))).toEqual([]);

  const thawedAt = frozen.kill("SIGCONT");
  const shut = await frozen.said("gate", ({ open, at }) => open === false && at > thawedAt);
  await frozen.said("gate", ({ open, at }) => open === true && at > shut.at);
  expect(await leaseOf(database.url, "mine")).toMatchObject({ holder: "frozen", epoch });
  expect(frozen.reports.filter(({ kind }) => kind === "lost")).toEqual([]);
  expect((await historyOf(database.url, "mine")).map(({ event }) => event)).toEqual(["elected"]);
  await expectNoOverlap(frozen, reaper);
});

test.concurrent('a frozen node that leads by on_stall = "depose" loses its sessions to the leader whose heir it is', async () => {
  await using database = await createTestDatabase();
  const { reaper, frozen } = await startPair(database.url, "depose");
  await using _reaper = reaper;
  await using _frozen = frozen;
  frozen.kill("SIGSTOP");
  await reaper.logged("ended the sessions of frozen nodes");
  expect(await waitUntil(async () => (await livingSessions(database.url, "mine")) === 0, 10_000)).toBe(true);
});

/** A session that holds the role's fence, and so stands in the way of a takeover, until it commits. */
async function sitOnFence(url: string, applicationName: string): Promise<Client> {
  const session = new Client({ connectionString: url, application_name: applicationName });
  session.on("error", () => undefined);
  await session.connect();
  await session.query("BEGIN");
  await session.query("SELECT pg_advisory_xact_lock_shared(fence_key) FROM holdfast.leases WHERE role = 'scheduler'");
  return session;
}

const isBlocked = ({ line }: Report): boolean => line?.reason === "blocked";

test.concurrent("of those who block a takeover a competitor in this election is waited for, and anybody else is ended", async () => {
  await using database = await createTestDatabase();
  await using first = await NodeProcess.start({ settings: clusterNode(database.url, "first", quick) });
  const { epoch = 0n } = await first.said("elected");
  await using second = await NodeProcess.start({ settings: clusterNode(database.url, "second", quick) });
  await heirOf(database.url);
  const competitor = await sitOnFence(database.url, "holdfast campaign 0123456789abcdef third");
  const sitter = await sitOnFence(database.url, "holdfast pool 0123456789abcdef third");
  const ended = new Promise((resolve) => {
    sitter.once("error", resolve);
  });
  first.kill("SIGKILL");
  expect(await ended).toMatchObject({ code: "57P01" });
  const endedAt = process.hrtime.bigint();
  const { line } = await second.logged("sessions stood in the way of a takeover");
  expect(line).toMatchObject({ role: "scheduler", ended: 1, refused: 0, prepared: 0 });

  // The attempt that ended the other one gives up, and so does the next, which found the competitor alone in its way.
  const { at: gaveUpAt } = await second.said("log", (report) => isBlocked(report) && report.at > endedAt);
  await second.said("log", (report) => isBlocked(report) && report.at > gaveUpAt);
  expect((await competitor.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
  expect(second.reports.filter(({ kind }) => kind === "elected")).toEqual([]);
  await competitor.query("COMMIT");
  expect(await second.said("elected")).toMatchObject({ epoch: epoch + 1n });
  await competitor.end();
  await expectNoOverlap(first, second);
});
