import { describe, test } from "vitest";
import { eventually } from "../examples/example-process.js";
import { Guide, patience } from "../support/guide.js";
import { createTestDatabase, rowsOf } from "../support/postgres.js";
import type { StartedProgram } from "../support/started-program.js";

const acting = /^acting/;
const acts = ({ lines }: StartedProgram): boolean => lines.some((line) => acting.test(line));

/** Resolves when the database has answered some more questions for the old lock, each with no. */
async function triesAgain(url: string, program: StartedProgram): Promise<void> {
  const asked = async (): Promise<string | undefined> => {
    const rows = await rowsOf<{ at: string }>(
      url,
      `select max(query_start)::text as at from pg_stat_activity
       where datname = current_database() and query like 'select pg_try_advisory_lock(4711)%' and pid <> coalesce(
         (select pid from pg_locks where locktype = 'advisory' and objid = 4711 and granted
            and database = (select oid from pg_database where datname = current_database())), 0)`,
    );
    return rows[0]?.at ?? undefined;
  };
  const seen = new Set<string>();
  await eventually(
    async () => {
      const at = await asked();
      if (at !== undefined) seen.add(at);
      return seen.size >= 3 ? true : undefined;
    },
    () => `nobody asks for the old lock:\n${program.lines.join("\n")}`,
  );
}

describe.concurrent("move from advisory locks", patience, () => {
  test("the old way lets two act, once the session of the first has been ended", async ({ expect }) => {
    await using database = await createTestDatabase();
    await using guide = await Guide.open("from-advisory-locks", { DATABASE_URL: database.url });
    await using first = await guide.start("before.mjs");
    await first.line(acting);
    await using second = await guide.start("before.mjs");
    await triesAgain(database.url, second);
    expect(acts(second)).toBe(false);
    await rowsOf(
      database.url,
      `select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and objid = 4711 and granted
         and database = (select oid from pg_database where datname = current_database())`,
    );
    await second.line(acting);
    const before = first.lines.length;
    await expect.poll(() => first.lines.length).toBeGreaterThan(before + 2);
  });

  test("a new replica leads and waits for the old lock; an old one waits for a new one; the last release needs neither", async ({
    expect,
  }) => {
    await using database = await createTestDatabase();
    await using guide = await Guide.open("from-advisory-locks", { DATABASE_URL: database.url });
    await using old = await guide.start("before.mjs");
    await old.line(acting);
    await using during = await guide.start("during.mjs");
    await triesAgain(database.url, during);
    expect(await rowsOf(database.url, "select role from holdfast.leaders")).toEqual([{ role: "billing" }]);
    expect(acts(during)).toBe(false);
    await old.end("SIGKILL");
    await during.line(/^acting under epoch 1$/);

    await using late = await guide.start("before.mjs");
    await triesAgain(database.url, late);
    expect(acts(late)).toBe(false);
    await late.end("SIGKILL");

    await using after = await guide.start("after.mjs");
    expect(await during.end("SIGTERM")).toEqual({ code: 0, signal: null });
    await after.line(/^acting under epoch [23]$/);
    expect(await after.end("SIGTERM")).toEqual({ code: 0, signal: null });
  });

  test("the session of the old lock breaks, and the new replica gives the role up instead of acting on", async ({
    expect,
  }) => {
    await using database = await createTestDatabase();
    await using guide = await Guide.open("from-advisory-locks", { DATABASE_URL: database.url });
    await using during = await guide.start("during.mjs");
    await during.line(/^acting under epoch 1$/);
    await rowsOf(
      database.url,
      `select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and objid = 4711 and granted
         and database = (select oid from pg_database where datname = current_database())`,
    );
    const given = await eventually(
      async () => {
        const rows = await rowsOf<{ reason: string }>(
          database.url,
          "select reason from holdfast.history where event <> 'elected' and role = 'billing'",
        );
        return rows[0];
      },
      () => `the role was not given up:\n${during.lines.join("\n")}`,
    );
    expect(given.reason).toBe("work_failed");
  });
});
