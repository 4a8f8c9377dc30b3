import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test, vi } from "vitest";
import { repositoryRoot } from "../support/demo-process.js";
import { installedProject } from "../support/installed-project.js";

// An install takes a while on a busy machine.
vi.setConfig({ testTimeout: 600_000 });

/** What a service writes against each entry point, with the types that it counts on; one line of each is wrong on purpose. */
const consumers: Readonly<Record<string, string>> = {
  ".": `import { createNode, NotLeaderError, StaleEpochError } from "holdfast";
const node = await createNode({ store: { url: "postgres://db/app" }, cluster: { enabled: true } });
node.role("scheduler").lead(async (term) => {
  const epoch: bigint = term.epoch;
  const rows: readonly unknown[] = await term.transaction(async (tx) => (await tx.query("select 1")).rows);
  if (term.signal.aborted) throw new NotLeaderError(String(epoch + BigInt(rows.length)));
});
export const failures = [StaleEpochError];
// @ts-expect-error an epoch is no number
export const wrong: number = (await node.role("scheduler").gate.requireLeader()).epoch;`,
  "./engine": `import { defineHandler, defineRouter } from "holdfast/engine";
export const entry = [typeof defineRouter, typeof defineHandler];
// @ts-expect-error a router has a name
defineRouter();`,
  "./fastify": `import { holdfast } from "holdfast/fastify";
import type { HoldfastNode } from "holdfast";
import fastify from "fastify";
export async function serve(node: HoldfastNode) {
  const app = fastify();
  await app.register(holdfast, { node });
  app.post("/orders", { onRequest: app.leaderOnly("scheduler") }, async () => "taken");
  // @ts-expect-error a role is named
  app.leaderOnly();
}`,
  "./http": `import { leaderGuard } from "holdfast/http";
export const guard = leaderGuard;
// @ts-expect-error a guard is of a node and a role
leaderGuard();`,
  "./jobs": `import { Agent, createJobs, FinalError, type Job } from "holdfast/jobs";
export const state = (job: Job): string => job.state;
export const made = [Agent, createJobs, FinalError];
// @ts-expect-error jobs are of a node
createJobs();`,
  "./queue": `import { createQueue } from "holdfast/queue";
export const make = createQueue;
// @ts-expect-error a queue is of a node
createQueue();`,
  "./testing": `import { createTestCluster, TestClock, type TestCluster } from "holdfast/testing";
export const cluster: TestCluster = createTestCluster();
export const clock = new TestClock();
// @ts-expect-error it takes nothing
createTestCluster(1);`,
};

const exported = Object.keys(
  (JSON.parse(readFileSync(join(repositoryRoot, "package.json"), "utf8")) as { exports: Record<string, unknown> })
    .exports,
).filter((entry) => entry !== "./package.json");

test("every entry point has a consumer here", () => {
  expect(Object.keys(consumers).sort()).toEqual(exported.sort());
});

test.each([
  { module: "nodenext", moduleResolution: "nodenext" },
  { module: "esnext", moduleResolution: "bundler" },
])(
  "each entry point compiles with moduleResolution $moduleResolution, strictly and with all of its types checked",
  async (resolution) => {
    // As after an install with --omit=optional: our types must not need what is optional.
    await using project = await installedProject({ optional: false });
    const files = Object.entries(consumers).map(([entry, text]) => ({ name: `${entry.slice(2) || "root"}.ts`, text }));
    for (const { name, text } of files) await writeFile(join(project.directory, name), `${text}\n`);
    const compilerOptions = {
      ...resolution,
      target: "es2023",
      lib: ["es2023", "esnext.disposable"],
      types: ["node"],
      strict: true,
      exactOptionalPropertyTypes: true,
      noEmit: true,
      skipLibCheck: false,
    };
    const config = { compilerOptions, files: files.map(({ name }) => name) };
    await writeFile(join(project.directory, "tsconfig.json"), JSON.stringify(config));
    const compiler = join(repositoryRoot, "node_modules/.bin/tsc");
    const { stdout } = await promisify(execFile)(compiler, ["-p", project.directory, "--pretty", "false"]).catch(
      (error: unknown) => error as { readonly stdout: string },
    );
    expect(stdout).toBe("");
  },
);
