import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { type Migration, migrate, readMigrations } from "../../src/store/postgres/migrations.js";
import { eventually } from "../examples/example-process.js";
import { clusterNode } from "../support/election.js";
import { blocksOf, Guide, patience } from "../support/guide.js";
import type { InstalledProject } from "../support/installed-project.js";
import { startLocalNode } from "../support/local-node.js";
import { createTestDatabase, rowsOf, withClient } from "../support/postgres.js";
import { isMissing } from "../support/programs.js";
import { ServeProcess } from "../support/serve-process.js";

const block = blocksOf("upgrade");

/** What a version to come would bring: a column more, and the oldest code that can live with it. */
async function nextMigrations(oldestCode: "this" | "next"): Promise<readonly Migration[]> {
  const shipped = await readMigrations();
  const version = shipped.length + 1;
  const sql = 'alter table :"schema".nodes add column mood text;\n';
  const digest = createHash("sha256").update(sql).digest("hex");
  const oldest = oldestCode === "this" ? shipped.length : version;
  return [...shipped, { version, name: `${version}_mood.sql`, oldestCode: oldest, sql, digest }];
}

const migrateTo = (url: string, migrations: readonly Migration[]) =>
  withClient(url, (client) => migrate(client, "holdfast", migrations));

/** Of the role `scheduler`, oldest first. */
const electionsIn = async (url: string): Promise<readonly string[]> => {
  const sql = "select node_id from holdfast.history where event = 'elected' and role = 'scheduler' order by epoch";
  return (await rowsOf<{ node_id: string }>(url, sql)).map((row) => row.node_id);
};

test(
  "the dry run names what would be applied to an older schema and changes nothing; the command applies it",
  async () => {
    await using database = await createTestDatabase({ template: "template1" });
    const shipped = await readMigrations();
    const last = shipped.at(-1)?.name;
    await migrateTo(database.url, shipped.slice(0, -1));
    await using guide = await Guide.open("upgrade", { HOLDFAST_STORE_URL: database.url });
    for (const time of ["first", "second"]) {
      const { code, stdout } = await guide.attempt("look");
      expect({ time, code, stdout }).toMatchObject({
        code: 0,
        stdout: `would be applied: ${last}\nThe schema is at version ${shipped.length - 1}, and would be at ${shipped.length}.`,
      });
    }
    const checking = clusterNode(database.url, "new", {}, { migrate: "check" });
    await expect(startLocalNode(checking)).rejects.toMatchObject({
      code: "SCHEMA_TOO_OLD",
      message: expect.stringContaining("holdfast migrate"),
    });
    expect((await guide.attempt("migrate")).stdout).toContain(`applied: ${last}`);
    expect((await guide.attempt("migrate")).stdout).toContain("nothing to do");
    await using upgraded = await startLocalNode(checking);
    expect(upgraded.node.id).toBe("new");
  },
  patience.timeout,
);

test("code that a migration cannot do with is refused with SCHEMA_TOO_NEW, and any other runs on the newer schema", async () => {
  await using database = await createTestDatabase();
  await migrateTo(database.url, await nextMigrations("this"));
  await using old = await startLocalNode(clusterNode(database.url, "old"));
  expect((await old.leads()).epoch).toBe(1n);

  await using other = await createTestDatabase();
  await migrateTo(other.url, await nextMigrations("next"));
  await expect(startLocalNode(clusterNode(other.url, "old"))).rejects.toMatchObject({ code: "SCHEMA_TOO_NEW" });
});

describe.skipIf(isMissing("curl"))("three nodes", () => {
  // Clean handovers wait for no lease, so that it may be long: on a busy machine nobody loses the role by the way.
  const patient = {
    "cluster.enabled": true,
    "cluster.leader_fence_timeout_seconds": 30,
    "cluster.leader_lease_ttl_seconds": 40,
    "cluster.node_timeout_seconds": 40,
  };
  const serve = (url: string, nodeId: string) =>
    ServeProcess.start({ settings: { ...patient, "store.url": url, "cluster.node_id": nodeId } });

  const ready = async (project: InstalledProject, { url }: ServeProcess) =>
    (await project.run(block("wait"), { env: { HOLDFAST_URL: url } })).code;

  const stop = async (served: ServeProcess) => {
    served.kill("SIGTERM");
    return await served.exited;
  };

  test(
    "replaced standbys first and the leader last hand the role over once, to a new one",
    async () => {
      await using database = await createTestDatabase();
      await using guide = await Guide.open("upgrade");
      await using leader = await serve(database.url, "old-1");
      await eventually(
        async () => ((await electionsIn(database.url)).length > 0 ? true : undefined),
        () => "nobody leads",
      );
      await using second = await serve(database.url, "old-2");
      await using third = await serve(database.url, "old-3");
      await migrateTo(database.url, await nextMigrations("this"));

      expect(await stop(second)).toEqual({ code: 0, signal: null });
      await using newSecond = await serve(database.url, "new-2");
      expect(await ready(guide.project, newSecond)).toBe(0);
      expect(await stop(third)).toEqual({ code: 0, signal: null });
      await using newThird = await serve(database.url, "new-3");
      expect(await ready(guide.project, newThird)).toBe(0);
      expect(await electionsIn(database.url)).toEqual(["old-1"]);

      const said = await guide.project.run(block("hand-over"), { env: { HOLDFAST_URL: newSecond.url } });
      expect(said.stdout).toMatch(/^old-1 handed scheduler over; new-[23] leads it, epoch 2\.$/);
      expect(await stop(leader)).toEqual({ code: 0, signal: null });
      await using newFirst = await serve(database.url, "new-1");
      expect(await ready(guide.project, newFirst)).toBe(0);
      expect(await electionsIn(database.url)).toEqual(["old-1", expect.stringMatching(/^new-[23]$/)]);
    },
    patience.timeout,
  );
});
