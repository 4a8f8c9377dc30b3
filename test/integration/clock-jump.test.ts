import { expect, test } from "vitest";
import { waitUntil } from "../../src/store/embedded/wait-until.js";
import { clusterNode, crashReason, expectNoOverlap, heirOf, leaseOf, quick, trusted } from "../support/election.js";
import { startFakeClock } from "../support/faketime.js";
import { NodeProcess } from "../support/node-process.js";
import { createTestDatabase } from "../support/postgres.js";
import { isMissing } from "../support/programs.js";

/** Resolves when the leader has renewed so many times more. */
async function renewals(url: string, count: number): Promise<void> {
  for (let renewal = 0; renewal < count; renewal += 1) {
    const { expiresAt } = await leaseOf(url);
    expect(await waitUntil(async () => (await leaseOf(url)).expiresAt > expiresAt, 10_000)).toBe(true);
  }
}

for (const [direction, offset] of [
  ["forward", "+3600"],
  ["back", "-3600"],
] as const) {
  test
    .skipIf(isMissing("faketime"))
    .concurrent(`a leader whose clock jumps an hour ${direction} leads on, its gate open all the while`, async () => {
      await using database = await createTestDatabase();
      await using clock = await startFakeClock();
      await using first = await NodeProcess.start({
        settings: clusterNode(database.url, "first", trusted),
        env: clock.env,
      });
      const { epoch = 0n } = await first.said("elected");
      await using second = await NodeProcess.start({ settings: clusterNode(database.url, "second", trusted) });
      await heirOf(database.url);
      await first.said("gate", ({ open }) => open === true);
      const before = await first.ask<{ wallMs: number }>("clock");
      await clock.step(offset);
      const after = await first.ask<{ wallMs: number }>("clock");
      expect(Math.abs(after.wallMs - before.wallMs)).toBeGreaterThan(3_500_000);
      expect(await first.ask("gate")).toEqual({ open: true });
      await renewals(database.url, 6);
      expect(await first.ask("gate")).toEqual({ open: true });
      expect(first.reports.filter(({ kind, open }) => kind === "lost" || open === false)).toEqual([]);
      expect(await leaseOf(database.url)).toMatchObject({ holder: "first", epoch });
      first.kill("SIGKILL");
      expect(await second.said("elected")).toMatchObject({ epoch: epoch + 1n, reason: crashReason() });
      await expectNoOverlap(first, second);
    });

  test
    .skipIf(isMissing("faketime"))
    .concurrent(`a standby whose clock jumps an hour ${direction} takes nothing before its time`, async () => {
      await using database = await createTestDatabase();
      await using clock = await startFakeClock();
      await using first = await NodeProcess.start({ settings: clusterNode(database.url, "first", quick) });
      const { epoch = 0n } = await first.said("elected");
      await using second = await NodeProcess.start({
        settings: clusterNode(database.url, "second", quick),
        env: clock.env,
      });
      await heirOf(database.url);
      await clock.step(offset);
      await renewals(database.url, 6);
      expect(second.reports.filter(({ kind }) => kind === "elected")).toEqual([]);
      first.kill("SIGSTOP");
      expect(await second.said("elected")).toMatchObject({ epoch: epoch + 1n, reason: "expired" });
      await second.said("gate", ({ open }) => open === true);
      first.kill("SIGCONT");
      await first.said("lost");
      await expectNoOverlap(first, second);
    });
}
