import { expect, test } from "vitest";
import { Player, postgresHarness } from "../contract/harness.js";
import { JobLeader, submission } from "../contract/job-leader.js";
import { createLogin, migratedBy } from "../support/login-role.js";

test("nodes that own nothing run crons: define, fire, trigger, pause, see and forget", async () => {
  await using migrator = await createLogin("migrator");
  await using role = await createLogin("node");
  await using reader = await createLogin("reader");
  await using database = await migratedBy(migrator, role, reader);
  await using harness = await postgresHarness({ database, url: role.at(database.url) });
  await using player = await Player.join(harness, "first");
  const { fence, book: jobs } = await JobLeader.elect(player);
  const { crons: book } = player.store;
  const nightly = {
    name: "nightly",
    source: "settings",
    schedule: "0 2 * * *",
    timeZone: "UTC",
    op: "report",
    payload: null,
    policy: { kind: "coalesce" },
  } as const;
  await book.define(fence, [nightly], true);
  const { now, crons } = await book.look();
  const { generation, lastTick } = crons[0]!;
  const marks = [{ tick: now, kind: "fired", missed: 0 }] as const;
  const order = { cron: "nightly", generation, lastTick, plannedAt: now, marks };
  const job = { ...submission("fired"), cron: "nightly", tick: now };
  expect(await book.fire(fence, [{ order, jobs: [job] }])).toEqual({ kind: "fired" });
  expect(await book.trigger(fence, "nightly", submission("triggered"))).toBe(true);
  expect(await book.setPaused(fence, "nightly", true)).toBe(true);
  expect(await jobs.job("fired")).toMatchObject({ cron: "nightly", tick: now });
  expect(await book.history("nightly", { limit: 5 })).toMatchObject([{ jobId: "triggered" }, { jobId: "fired" }]);
  expect(await book.forget(fence, 0, 10)).toBe(2);
});
