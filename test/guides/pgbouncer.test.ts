import { describe, expect, test } from "vitest";
import { heirWaits, nextLeader } from "../examples/example-process.js";
import { blocksOf, Guide, patience } from "../support/guide.js";
import { type PoolerAddresses, startPgBouncer } from "../support/pgbouncer.js";
import { createTestDatabase, rowsOf, type TestDatabase, withClient } from "../support/postgres.js";
import { isMissing } from "../support/programs.js";

const block = blocksOf("pgbouncer");

/** The guide's file, with the addresses of this test in place of its own. */
function printedFor(name: string): (addresses: PoolerAddresses) => string {
  return ({ port, serverHost, serverPort, authFile }) => {
    const replaced: readonly (readonly [string, string])[] = [
      ["app = host=db.example.com port=5432", `${name} = host=${serverHost} port=${serverPort}`],
      ["listen_port = 6432", `listen_port = ${port}`],
      ["auth_file = /etc/pgbouncer/users.txt", `auth_file = ${authFile}`],
    ];
    return replaced.reduce((text, [from, to]) => {
      if (!text.includes(from)) throw new Error(`pgbouncer.ini has no ${from}`);
      return text.replace(from, to);
    }, block("pgbouncer.ini").text);
  };
}

async function invoicesDatabase(): Promise<TestDatabase> {
  const database = await createTestDatabase();
  await withClient(database.url, (client) => client.query("create table invoices (amount integer)"));
  return database;
}

const reasonsIn = async ({ url }: TestDatabase): Promise<readonly string[]> => {
  const sql = "select reason from holdfast.history where event = 'elected' and role = 'billing' order by epoch";
  return (await rowsOf<{ reason: string }>(url, sql)).map(({ reason }) => reason);
};

describe.skipIf(isMissing("pgbouncer"))("behind the PgBouncer of the guide", patience, () => {
  test("with election_url fenced writes go through the pooler, and a crash is told by evidence", async () => {
    await using database = await invoicesDatabase();
    await using pooler = await startPgBouncer(database.url, undefined, printedFor(database.name));
    const through = pooler.through(database.url);
    await using guide = await Guide.open("pgbouncer", { DATABASE_URL: through, ELECTION_URL: database.url });
    await using first = await guide.start("node.mjs");
    await first.line(/^committed$/);
    await using second = await guide.start("node.mjs");
    await heirWaits(database.url);
    const { epoch } = await nextLeader([first]);
    await first.end("SIGKILL");
    await nextLeader([second], epoch);
    await second.line(/^committed$/);
    expect(await reasonsIn(database)).toEqual(["first", "evidence"]);
    expect(first.lines.join("\n")).not.toContain("a pooler stands before the database");

    const settings = { HOLDFAST_STORE_URL: through, HOLDFAST_CLUSTER_ENABLED: "true" };
    const both = { ...settings, HOLDFAST_STORE_ELECTION_URL: database.url };
    expect((await guide.project.run(block("doctor"), { env: both })).stdout).toMatch(/^ok +pooler/m);
    expect((await guide.project.run(block("doctor"), { env: settings })).stdout).toMatch(/^warning +pooler/m);
  });

  test("through the pooler alone a crash waits for the lease, which the log says; evidence by name is refused", async () => {
    await using database = await invoicesDatabase();
    await using pooler = await startPgBouncer(database.url, undefined, printedFor(database.name));
    await using guide = await Guide.open("pgbouncer", { DATABASE_URL: pooler.through(database.url) });
    await using first = await guide.start("node.mjs");
    await first.line(/a pooler stands before the database/);
    await first.line(/^committed$/);
    const { epoch } = await nextLeader([first]);
    await using second = await guide.start("node.mjs");
    await second.line(/a pooler stands before the database/);
    await first.end("SIGKILL");
    await nextLeader([second], epoch);
    expect(await reasonsIn(database)).toEqual(["first", "expired"]);

    const insisting = block("node.mjs").text.replace(
      "cluster: { enabled: true }",
      'cluster: { enabled: true, leaderElection: { takeover: "evidence" } }',
    );
    const { code, stderr } = await guide.project.run({ ...block("node.mjs"), name: "insisting.mjs", text: insisting });
    expect(code).toBe(1);
    expect(stderr).toContain("POOLER_DETECTED");
  });
});
