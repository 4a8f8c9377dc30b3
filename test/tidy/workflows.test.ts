import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";

const root = join(import.meta.dirname, "../..");
const folder = join(root, ".github/workflows");
const releases = JSON.parse(readFileSync(join(root, "test/support/postgres-versions.json"), "utf8")) as object;
const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { readonly scripts: object };

interface Job {
  readonly "timeout-minutes"?: number;
  readonly strategy?: { readonly matrix: Readonly<Record<string, readonly number[]>> };
  readonly steps: readonly { readonly run?: string; readonly uses?: string }[];
}

function jobsOf(name: string): readonly Job[] {
  const { jobs } = parse(readFileSync(join(folder, name), "utf8")) as { readonly jobs: Readonly<Record<string, Job>> };
  return Object.values(jobs);
}

const workflows = readdirSync(folder);

test.each(workflows)("%s has jobs that end, and runs only scripts that there are", (name) => {
  for (const job of jobsOf(name)) {
    expect(job["timeout-minutes"]).toBeGreaterThan(0);
    const words = job.steps.flatMap(({ run = "" }) =>
      [...run.matchAll(/npm run ([\w:]+)/g)].map(([, script]) => script),
    );
    expect(Object.keys(scripts)).toEqual(expect.arrayContaining(words));
    expect(job.steps.every(({ run, uses }) => (run === undefined) !== (uses === undefined))).toBe(true);
  }
});

test("each change is tested on every Node and every PostgreSQL that the package is for", () => {
  const matrices = jobsOf("ci.yml").map((job) => job.strategy?.matrix);
  expect(matrices).toEqual([
    { node: [20, 22, 24] },
    { node: [20, 22, 24], postgres: Object.keys(releases).map(Number) },
  ]);
});
