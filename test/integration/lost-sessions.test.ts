import { expect, test } from "vitest";
import { waitUntil } from "../../src/store/embedded/wait-until.js";
import { clusterNode, crashReason, expectNoOverlap, heirOf, historyOf, leaseOf, quick } from "../support/election.js";
import { NodeProcess } from "../support/node-process.js";
import { createTestDatabase, withClient } from "../support/postgres.js";
import { givesEvidence } from "../support/postgres-version.js";

type Sessions = readonly ("lock" | "witness")[];

/** Ends sessions of a node as an administrator would, in one statement. */
async function terminate(url: string, nodeId: string, sessions: Sessions): Promise<void> {
  const names = `^holdfast (${sessions.join("|")}) .*${nodeId}$`;
  const { rows } = await withClient(url, (client) =>
    client.query(
      "SELECT pg_terminate_backend(pid) AS ended FROM pg_stat_activity WHERE datname = current_database() AND application_name ~ $1",
      [names],
    ),
  );
  expect(rows).toEqual(sessions.map(() => ({ ended: true })));
}

/** Resolves when the row names two living sessions, none of them among the old ones. */
async function reconnected(
  url: string,
  old: { lockSession: string | null; witnessSession: string | null },
  lost: Sessions,
): Promise<void> {
  const renewed = await waitUntil(async () => {
    const now = await leaseOf(url);
    return (
      now.lockSession !== null &&
      now.witnessSession !== null &&
      (!lost.includes("lock") || now.lockSession !== old.lockSession) &&
      (!lost.includes("witness") || now.witnessSession !== old.witnessSession)
    );
  }, 20_000);
  expect(renewed).toBe(true);
}

const losses: readonly { lost: Sessions; what: string }[] = [
  { lost: ["lock"], what: "lock session" },
  { lost: ["witness"], what: "witness session" },
  { lost: ["lock", "witness"], what: "sessions" },
];
for (const { lost, what } of losses) {
  test.concurrent(`a living leader whose ${what} an administrator ends keeps its epoch, and the heir takes nothing`, async () => {
    await using database = await createTestDatabase();
    await using first = await NodeProcess.start({ settings: clusterNode(database.url, "first") });
    const { epoch = 0n } = await first.said("elected");
    await using second = await NodeProcess.start({ settings: clusterNode(database.url, "second") });
    expect(await heirOf(database.url)).toBe("second");
    await first.said("gate", ({ open }) => open === true);
    const before = await leaseOf(database.url);

    await terminate(database.url, "first", lost);
    const shut = await first.said("gate", ({ open }) => open === false);
    await first.said("gate", ({ open, at }) => open === true && at > shut.at);
    await reconnected(database.url, before, lost);
    expect(await leaseOf(database.url)).toMatchObject({ holder: "first", epoch });
    expect(first.reports.filter(({ kind }) => kind === "lost")).toEqual([]);
    expect(second.reports.filter(({ kind }) => kind === "elected")).toEqual([]);

    // And the evidence of a real crash is good again.
    expect(await heirOf(database.url, "scheduler", { fresh: true })).toBe("second");
    first.kill("SIGKILL");
    expect(await second.said("elected")).toMatchObject({ epoch: epoch + 1n, reason: crashReason() });
    await expectNoOverlap(first, second);
  });
}

const refusals: readonly { lost: Sessions; what: string; reason: string }[] = [
  { lost: ["lock"], what: "lock session", reason: "lingering" },
  { lost: ["lock", "witness"], what: "sessions", reason: "killed" },
];
for (const { lost, what, reason } of refusals) {
  test
    .runIf(givesEvidence())
    .concurrent(
      `a frozen leader whose ${what} an administrator ends is not taken for crashed: its lease decides`,
      async () => {
        await using database = await createTestDatabase();
        await using first = await NodeProcess.start({ settings: clusterNode(database.url, "first", quick) });
        const { epoch = 0n } = await first.said("elected");
        await using second = await NodeProcess.start({ settings: clusterNode(database.url, "second", quick) });
        expect(await heirOf(database.url)).toBe("second");

        first.kill("SIGSTOP");
        await terminate(database.url, "first", lost);
        const { line } = await second.logged("the leader's lock came without evidence of a crash");
        expect(line?.reason).toBe(reason);
        const frozen = await leaseOf(database.url);
        expect(frozen).toMatchObject({ holder: "first", epoch });
        expect(await second.said("elected")).toMatchObject({ reason: "expired", epoch: epoch + 1n });
        expect((await historyOf(database.url)).at(-1)?.at).toBeGreaterThanOrEqual(frozen.expiresAt);
        first.kill("SIGCONT");
        await first.said("lost");
        await expectNoOverlap(first, second);
      },
    );
}
