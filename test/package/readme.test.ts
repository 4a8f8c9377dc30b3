import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { repositoryRoot } from "../support/demo-process.js";
import { installedProject, resultOf } from "../support/installed-project.js";
import { nodeRelease } from "../support/node-release.js";
import { createTestDatabase, withClient } from "../support/postgres.js";
import { snippet, snippets } from "../support/snippets.js";

const readme = join(repositoryRoot, "README.md");

test("each block of the README that is marked is run here", () => {
  expect(snippets(readme).map(({ name }) => name)).toEqual(["report.mjs", "report", "leader.mjs"]);
});

test.each([20, 22, 24] as const)(
  "the blocks of the README run as printed, with the packed package in an empty project, on Node %i",
  { timeout: 900_000 },
  async (major) => {
    await using database = await createTestDatabase();
    const node = await nodeRelease(major);
    await using project = await installedProject({ node });
    expect((await resultOf(project.command(["node", "--version"]))).stdout).toMatch(new RegExp(`^v${major}\\.`));

    // Where the running demo would have written it.
    const demo = join(project.directory, ".holdfast/demo/7400");
    await mkdir(demo, { recursive: true });
    await writeFile(join(demo, "database.url"), `${database.url}\n`);
    await project.write(snippet(readme, "report.mjs"));
    {
      await using report = await project.start(snippet(readme, "report"));
      await report.line(/^\S+ \S+ reports$/);
    }

    await project.write(snippet(readme, "leader.mjs"));
    await using leader = project.command(["node", "leader.mjs"], { env: { DATABASE_URL: database.url } });
    const [, epoch] = await leader.line(/^leading under epoch (\d+)$/);
    await expect
      .poll(() =>
        withClient(database.url, (client) => client.query("select epoch from bills limit 1")).catch(() => null),
      )
      .toMatchObject({ rows: [{ epoch }] });
  },
);
