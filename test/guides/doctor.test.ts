import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { repositoryRoot } from "../support/demo-process.js";
import { Guide, patience } from "../support/guide.js";
import { createTestDatabase } from "../support/postgres.js";

it("the doctor says which database it looked at, and a line for each check", patience, async () => {
  await using database = await createTestDatabase();
  // So that a busy machine is no slow database.
  const slowly = {
    HOLDFAST_CLUSTER_LEADER_FENCE_TIMEOUT_SECONDS: "60",
    HOLDFAST_CLUSTER_LEADER_LEASE_TTL_SECONDS: "90",
  };
  await using guide = await Guide.open("doctor", { HOLDFAST_STORE_URL: database.url, ...slowly });
  const { stdout, stderr } = await guide.run("doctor");
  expect(stdout + stderr).toContain(`this is about database "${database.name}"`);
  const report = JSON.parse(stdout.slice(stdout.indexOf("{"))) as {
    readonly findings: readonly { readonly check: string }[];
  };
  // Each of the table, in its order.
  const guideText = await readFile(join(repositoryRoot, "docs/guides/doctor.md"), "utf8");
  const [, table = ""] = guideText.split("## What it looks at");
  const told = [...table.matchAll(/^\| `(\w+)` /gm)].map(([, check]) => check);
  expect(report.findings.map(({ check }) => check)).toEqual(told);
});

it("without a database it refuses, with 2", patience, async () => {
  await using guide = await Guide.open("doctor");
  expect(await guide.attempt("doctor")).toMatchObject({ code: 2, stdout: "" });
});
