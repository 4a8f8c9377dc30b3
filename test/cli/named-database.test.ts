import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runCommand, runHere } from "../support/command.js";
import { createLogin, type LoginRole } from "../support/login-role.js";
import { createTestDatabase, makeTestDirectory, type TestDatabase } from "../support/postgres.js";

const direct: readonly (readonly string[])[] = [
  ["doctor"],
  ["migrate"],
  ["token", "create", "--name", "ada", "--role", "admin", "--direct"],
  ["token", "list", "--direct"],
];

describe("a command that goes straight to the database", () => {
  it.each(direct.map((args) => ({ args })))(
    "$args without any settings asks for one, and makes nothing",
    async ({ args }) => {
      const cwd = await makeTestDirectory();
      const { code, stdout, stderr } = await runHere(args, { cwd });
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      expect(stderr).toMatch(/^holdfast: No database is named: set HOLDFAST_STORE_URL=[^\n]* \[BAD_SETTINGS\]\n$/);
      expect(await readdir(cwd)).toEqual([]);
    },
  );

  it("takes the embedded one where that is stated, and from then on where it lies", async () => {
    const cwd = await makeTestDirectory();
    const said = `holdfast: this is about the embedded PostgreSQL in ${join(cwd, ".holdfast")}\n`;
    const stated = await runHere(["migrate"], { cwd, env: { HOLDFAST_STORE_BACKEND: "embedded" } });
    expect(stated).toMatchObject({ code: 0, stderr: said });
    const found = await runHere(["doctor", "--json"], { cwd });
    expect(found).toMatchObject({ code: 0, stderr: said });
    expect(JSON.parse(found.stdout)).toMatchObject({
      ok: true,
      database: `the embedded PostgreSQL in ${join(cwd, ".holdfast")}`,
    });
  });

  it("says first which database it is, and no secret of it", async () => {
    await using database = await createTestDatabase();
    const { host } = new URL(database.url);
    const env = { HOLDFAST_STORE_URL: database.url, HOLDFAST_CLUSTER_ENABLED: "true" };
    for (const args of direct) {
      const { code, stderr } = await runHere(args, { cwd: "/nowhere", env });
      expect({ args, code }).toEqual({ args, code: 0 });
      expect(stderr.split("\n")[0]).toBe(`holdfast: this is about database "${database.name}" at ${host}`);
    }
  });

  it("says so before it finds out that nobody answers there", async () => {
    const env = { HOLDFAST_STORE_URL: "postgres://me:hunter2@127.0.0.1:9/app?application_name=x" };
    const { code, stderr } = await runHere(["migrate"], { cwd: "/nowhere", env });
    expect(code).toBe(4);
    expect(stderr).toMatch(/^holdfast: this is about database "app" at 127\.0\.0\.1:9\nholdfast: /);
    expect(stderr).not.toContain("hunter2");
  });
});

describe("a password that is not the user's", () => {
  const advice = "Check the user and the password (HOLDFAST_STORE_PASSWORD, or the one in the URL).";

  /** Where a role with a password is to log in, and does not say it. */
  const lockedOut = (role: LoginRole, database: TestDatabase): Readonly<Record<string, string>> => {
    const url = new URL(role.at(database.url));
    url.password = "";
    return { HOLDFAST_STORE_URL: url.href, HOLDFAST_LOG_LEVEL: "silent", HOLDFAST_API_PORT: "0" };
  };

  it("ends a command with one line and the way out, as the doctor has it", async () => {
    await using role = await createLogin("locked out");
    await using database = await createTestDatabase();
    const env = { ...lockedOut(role, database), HOLDFAST_STORE_PASSWORD: "not it" };
    for (const args of [["serve"], ["migrate"]]) {
      const { code, stderr } = await runHere(args, { cwd: "/nowhere", env });
      expect({ args, code }).toEqual({ args, code: 4 });
      const lines = stderr.split("\n").filter((line) => line !== "" && !line.includes("this is about"));
      expect(lines).toHaveLength(1);
      expect(lines[0]).toContain("password authentication failed");
      expect(lines[0]).toContain(advice);
    }
    expect((await runHere(["doctor"], { cwd: "/nowhere", env })).stdout).toContain(`-> ${advice}`);
  });

  it("is also one that nobody gave", async () => {
    await using role = await createLogin("locked out");
    await using database = await createTestDatabase();
    const env = lockedOut(role, database);
    // In processes of their own: the driver leaves such a session to the server until the process ends.
    const migrate = await runCommand(["migrate"], { env });
    expect(migrate.code).toBe(4);
    expect(migrate.stderr).toContain(`\nholdfast: The database asks for a password, and there is none. ${advice} [`);
    expect((await runCommand(["doctor"], { env })).stdout).toContain(`-> ${advice}`);
  });
});
