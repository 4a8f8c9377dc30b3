import { expect, test } from "vitest";
import { resolveConfig } from "../../src/config/config.js";
import { openMaintenance } from "../../src/maintenance.js";
import { clusterNode, quick } from "../support/election.js";
import { Guide, patience } from "../support/guide.js";
import { startLocalNode } from "../support/local-node.js";
import { createTestDatabase, rowsOf, type TestDatabase, withClient } from "../support/postgres.js";
import { ensureRole, takeOver } from "../support/takeover.js";

/** The role as the backup has it, at epoch 5, and the tokens 6 to 9 that were given after it. */
async function restoredAfterNine(): Promise<TestDatabase> {
  await using original = await createTestDatabase();
  await ensureRole(original.url, "billing");
  await withClient(original.url, async (client) => {
    while ((await takeOver(client, "billing", { ttlMs: 500 })) < 5n);
  });
  // A copy within the server has what a dump has, and the server stays the same.
  await using backup = await createTestDatabase({ template: original.name });
  await withClient(original.url, async (client) => {
    while ((await takeOver(client, "billing", { ttlMs: 500 })) < 9n);
  });
  return await createTestDatabase({ template: backup.name });
}

async function nextEpoch(url: string): Promise<bigint> {
  await using node = await startLocalNode(clusterNode(url, "after", quick));
  return (await node.leads("billing")).epoch;
}

test("a restore into the same server goes unnoticed, and an epoch that was given would be given again", async () => {
  await using restored = await restoredAfterNine();
  expect(await nextEpoch(restored.url)).toBe(6n);
});

test(
  "after the guide's command no epoch repeats, and what bears an old one is refused",
  async () => {
    await using restored = await restoredAfterNine();
    await using guide = await Guide.open("disaster-recovery", { HOLDFAST_STORE_URL: restored.url });
    const advanced = await guide.attempt("advance");
    expect(advanced).toMatchObject({ code: 0, stdout: "The epoch of billing is 10." });

    for (const old of [5, 6, 9]) {
      const refused = rowsOf(restored.url, "select holdfast.assert_epoch('billing', $1)", [old]);
      await expect(refused, `epoch ${old}`).rejects.toMatchObject({ code: "HF001" });
    }
    expect(await nextEpoch(restored.url)).toBe(11n);

    // Again is harmless: an epoch only grows.
    expect(await guide.attempt("advance")).toMatchObject({ code: 0, stdout: "The epoch of billing is 12." });
    const last = await rowsOf<{ event: string; reason: string }>(
      restored.url,
      "select event, reason from holdfast.history order by id desc limit 1",
    );
    expect(last).toEqual([{ event: "advanced", reason: "operator" }]);
  },
  patience.timeout,
);

test("a role that the restored schema does not know is refused, so that a slip of the pen is not taken for done", async () => {
  await using database = await createTestDatabase();
  await using maintenance = await openMaintenance(resolveConfig({ store: { url: database.url } }, false));
  await expect(maintenance.advanceEpoch("bililng", 10n, "somebody")).rejects.toMatchObject({ code: "UNKNOWN_ROLE" });
});
