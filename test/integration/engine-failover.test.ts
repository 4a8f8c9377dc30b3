import { expect, test } from "vitest";
import { EngineCluster } from "../support/engine-cluster.js";
import { accountOf, flawsOf, latenessOf, longestLatenessMs, times, torture } from "../support/engine-torture.js";
import { createTestDatabase } from "../support/postgres.js";
import { isMissing, isRoot } from "../support/programs.js";

test("when one primary after another is killed under load, nothing acknowledged is lost or inverted, and the next delivers within a second", async ({
  annotate,
}) => {
  await using database = await createTestDatabase();
  await using cluster = await EngineCluster.start(database.url);
  const plan = { short: [times(1, "kill"), times(1, "kill")], long: [times(5, "kill"), times(5, "kill")] } as const;
  const ran = await torture(cluster, plan, (ward) => cluster.waysTo(ward));
  await annotate(accountOf(ran));
  expect(flawsOf(ran)).toEqual([]);
  expect(latenessOf(ran), accountOf(ran)).toBeLessThan(longestLatenessMs);
}, 600_000);

test("when a primary is frozen under load and thawed after the takeover, it writes nothing that its successor does not know of", async ({
  annotate,
}) => {
  await using database = await createTestDatabase();
  await using cluster = await EngineCluster.start(database.url);
  const plan = { short: [[], times(1, "freeze")], long: [times(5, "freeze"), times(5, "freeze")] } as const;
  const ran = await torture(cluster, plan, (ward) => cluster.waysTo(ward));
  await annotate(accountOf(ran));
  expect(flawsOf(ran)).toEqual([]);
  expect(latenessOf(ran), accountOf(ran)).toBeLessThan(longestLatenessMs);
}, 600_000);

test.skipIf(isMissing("nft") || !isRoot)(
  "when a primary is cut off from its database, or from everything, the other one goes on alone",
  async ({ annotate }) => {
    await using database = await createTestDatabase();
    await using cluster = await EngineCluster.start(database.url, { firewall: true });
    const cuts = ["cut_from_database", "cut_off"] as const;
    const plan = { short: [[], ["cut_from_database"]], long: [times(2, ...cuts), times(3, ...cuts)] } as const;
    const ran = await torture(cluster, plan, (ward) => cluster.waysTo(ward));
    await annotate(accountOf(ran));
    expect(flawsOf(ran)).toEqual([]);
    expect(latenessOf(ran), accountOf(ran)).toBeLessThan(longestLatenessMs);
  },
  600_000,
);
