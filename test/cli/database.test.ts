import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CommandResult, runCommand, runHere } from "../support/command.js";
import { createTestDatabase, makeTestDirectory, type TestDatabase, withClient } from "../support/postgres.js";

describe("commands that go straight to the database", () => {
  let database: TestDatabase;
  let folder = "";
  const role = `cli_node_${process.pid}`;

  beforeAll(async () => {
    database = await createTestDatabase({ template: "template0" });
    folder = await makeTestDirectory();
    await withClient(database.url, (client) => client.query(`CREATE ROLE ${role} LOGIN`));
  });

  afterAll(async () => {
    await database?.drop();
    const server = await createTestDatabase();
    await withClient(server.url, (client) => client.query(`DROP ROLE IF EXISTS ${role}`));
    await server.drop();
  });

  const surroundings = () => ({
    cwd: folder,
    env: { HOLDFAST_STORE_URL: database.url, HOLDFAST_CLUSTER_ENABLED: "true", HOLDFAST_STORE_MIGRATE: "check" },
  });

  const holdfast = (...args: readonly string[]): Promise<CommandResult> => runHere(args, surroundings());

  it("doctor says what is wrong with a database that has no schema, and exits with 1", async () => {
    const { code, stdout } = await holdfast("doctor", "--json");
    expect(code).toBe(1);
    const { ok, findings } = JSON.parse(stdout) as {
      readonly ok: boolean;
      readonly findings: readonly { readonly check: string; readonly verdict: string }[];
    };
    expect(ok).toBe(false);
    expect(findings).toContainEqual(expect.objectContaining({ check: "schema", verdict: "problem" }));
  });

  it("migrate --dry-run says what would be done, and does not do it", async () => {
    for (let time = 1; time <= 2; time += 1) {
      const { code, stdout } = await holdfast("migrate", "--dry-run");
      expect(code).toBe(0);
      expect(stdout).toMatch(/^would be applied: 0001_election\.sql$/m);
      expect(stdout).toMatch(/^The schema is at version 0, and would be at \d+\.$/m);
    }
  });

  it("migrate brings the schema up, once, and grants a role what a node needs", async () => {
    const { code, stdout } = await runCommand(["migrate", "--grant", role], surroundings());
    expect(code).toBe(0);
    expect(stdout).toMatch(/^applied: 0001_election\.sql$/m);
    expect(stdout).toContain(`${role} may do what a node does.`);
    const again = await holdfast("migrate", "--json");
    const report = JSON.parse(again.stdout) as { readonly from: number; readonly to: number };
    expect(report).toMatchObject({ applied: [], dry_run: false, grants: [] });
    expect(report.from).toBe(report.to);
  });

  it("doctor finds a good database good, and exits with 0", async () => {
    const { code, stdout } = await holdfast("doctor");
    expect({ code, stdout }).toMatchObject({ code: 0 });
    expect(stdout).toMatch(/^ok +database +PostgreSQL /m);
    expect(stdout).toMatch(/^ok +schema /m);
  });

  it("no database that answers exits with 4, whatever the command", async () => {
    const env = { HOLDFAST_STORE_URL: "postgres://nobody@127.0.0.1:9/none" };
    const commands = [["doctor"], ["migrate"], ["token", "list", "--direct"]];
    for (const args of commands) {
      const { code } = await runHere(args, { cwd: folder, env });
      expect({ args, code }).toEqual({ args, code: 4 });
    }
  });
});
