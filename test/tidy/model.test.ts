import { spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { isMissing } from "../support/programs.js";
import { repositoryRoot } from "./source-tree.js";

const withoutSpin = isMissing("spin") || isMissing("gcc");

function runModel(...args: string[]): { readonly code: number | null; readonly output: string } {
  const script = join(repositoryRoot, "model/run.mjs");
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...args], { encoding: "utf8" });
  return { code: status, output: stdout + stderr };
}

async function emptyFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-rows-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** A counter that runs from 0 to LIMIT, and the claim that it never gets to 3. */
const counter = `
byte n;
active proctype Count() { do :: n < LIMIT -> n++ :: n == LIMIT -> n = 0 od }
#ifdef CHECK_below
ltl below { [] (n < 3) }
#endif
#ifdef CHECK_returns
ltl returns { [] <> (n == 0) }
#endif
`;

async function searchCounter(limit: number, expected: "holds" | "fails", property = "below") {
  const folder = await emptyFolder();
  await writeFile(join(folder, "counter.pml"), counter);
  const row = { id: "counter", model: "counter.pml", property, defines: [`LIMIT=${limit}`], expect: expected };
  const rows = [{ ...row, liveness: property === "returns", says: "A counter stays below three." }];
  await writeFile(join(folder, "rows.mjs"), `export const rows = ${JSON.stringify(rows)};\n`);
  return runModel("--rows", join(folder, "rows.mjs"), "--trail");
}

describe("npm run model", () => {
  it("finds every row in the README, with the same outcome", () => {
    expect(runModel("--check")).toEqual({ code: 0, output: "" });
  });

  it.each([
    ["a row that is missing", /^\| `no-fence` .*\n/m, "", "no-fence is not in the README"],
    ["a row too many", /^\| `no-fence` /m, "| `none` | `g1` | | holds | 1 | |\n| `no-fence` ", "none is in the README"],
    ["another outcome", /^(\| `no-fence` .*\| )fails/m, "$1holds", 'the README has expect "holds"'],
  ])("refuses a README with %s", async (_what, written, instead, complaint) => {
    const readme = join(await emptyFolder(), "README.md");
    const text = await readFile(join(repositoryRoot, "model/README.md"), "utf8");
    await writeFile(readme, text.replace(written, instead));
    const { code, output } = runModel("--check", "--readme", readme);
    expect(output).toContain(complaint);
    expect(code).toBe(1);
  });

  it.skipIf(withoutSpin)("passes rows that come out as written", async () => {
    for (const search of [searchCounter(2, "holds"), searchCounter(3, "fails"), searchCounter(3, "holds", "returns")]) {
      const { code, output } = await search;
      expect(output).toContain("all as written");
      expect(code).toBe(0);
    }
  });

  it.skipIf(withoutSpin).each([
    [3, "holds", "expected: holds"],
    [2, "fails", "expected: fails"],
  ] as const)("fails when a counter to %d is said to be below three: %s", async (limit, expected, complaint) => {
    const { code, output } = await searchCounter(limit, expected);
    expect(output).toContain(complaint);
    expect(code).toBe(1);
  });

  it("says how to install what it needs", async () => {
    const folder = await emptyFolder();
    await writeFile(join(folder, "counter.pml"), counter);
    const rows = [{ id: "counter", model: "counter.pml", property: "below", defines: [], expect: "holds", says: "" }];
    await writeFile(join(folder, "rows.mjs"), `export const rows = ${JSON.stringify(rows)};\n`);
    const script = join(repositoryRoot, "model/run.mjs");
    const { status, stderr } = spawnSync(process.execPath, [script, "--rows", join(folder, "rows.mjs")], {
      encoding: "utf8",
      env: { PATH: folder },
    });
    expect(stderr).toContain("apt-get install spin gcc");
    expect(status).toBe(1);
  });
});
