import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { createTestDatabase, withClient } from "../support/postgres.js";

const page = readFileSync(new URL("../../docs/reference/sql.md", import.meta.url), "utf8");

/** `name(argument type, ...) returns type`, as the page begins the section of each function with. */
const toldFunctions = [...page.matchAll(/^### (\w+)\n\n`(\w+)\(([^)]*)\) returns (\w+)`/gm)].map(
  ([, heading = "", name = "", given = "", returned = ""]) => ({ heading, name, given, returned }),
);

const toldViews = [...page.matchAll(/^\| `(leaders|members)` +\| ([^|]*?) +\|$/gm)].map(([, name = "", cell = ""]) => ({
  name,
  columns: [...cell.matchAll(/`(\w+)`/g)].map(([, column = ""]) => column),
}));

test("every function of docs/reference/sql.md is in the schema with these arguments and this result", async () => {
  await using database = await createTestDatabase();
  const { rows } = await withClient(database.url, async (client) => {
    await client.query("SET search_path = pg_catalog");
    return await client.query<{ name: string; given: string; returned: string }>(
      `SELECT proname AS name, pg_get_function_arguments(oid) AS given, pg_get_function_result(oid) AS returned
         FROM pg_proc WHERE pronamespace = 'holdfast'::regnamespace AND proname = ANY ($1) ORDER BY proname`,
      [toldFunctions.map(({ name }) => name)],
    );
  });
  expect(toldFunctions.map(({ name }) => name)).toEqual([
    "assert_epoch",
    "use_epoch",
    "protect",
    "unprotect",
    "advance_epoch",
  ]);
  expect(toldFunctions.filter(({ heading, name }) => heading !== name)).toEqual([]);
  const there = rows.map(({ name, given, returned }) => ({ name, given: given.replaceAll(/\bp_/g, ""), returned }));
  const told = toldFunctions.map(({ name, given, returned }) => ({ name, given, returned }));
  expect(told.toSorted((one, other) => (one.name < other.name ? -1 : 1))).toEqual(there);
});

test("every view of docs/reference/sql.md has these columns", async () => {
  await using database = await createTestDatabase();
  expect(toldViews.map(({ name }) => name)).toEqual(["leaders", "members"]);
  for (const { name, columns } of toldViews) {
    const { rows } = await withClient(
      database.url,
      async (client) =>
        await client.query(`SELECT * FROM holdfast.${name} LIMIT 0`).then(({ fields }) => ({ rows: fields })),
    );
    expect(rows.map((field) => field.name)).toEqual(columns);
  }
});

test("every SQLSTATE of docs/reference/sql.md is raised by the schema's functions", async () => {
  await using database = await createTestDatabase();
  const { rows } = await withClient(
    database.url,
    async (client) =>
      await client.query<{ code: string }>(
        `SELECT DISTINCT (regexp_matches(prosrc, 'HF0[0-9][0-9]', 'g'))[1] AS code
           FROM pg_proc WHERE pronamespace = 'holdfast'::regnamespace`,
      ),
  );
  const raised = new Set(rows.map(({ code }) => code));
  const told = [...page.matchAll(/^\| `(HF\d{3})`/gm)].map(([, code = ""]) => code);
  expect(told.length).toBeGreaterThan(4);
  expect(told.filter((code) => !raised.has(code))).toEqual([]);
});
