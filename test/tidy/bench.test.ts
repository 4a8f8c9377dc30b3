import { spawn } from "node:child_process";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { repositoryRoot } from "./source-tree.js";

interface Run {
  readonly code: number | null;
  readonly output: string;
}

function bench(...args: string[]): Promise<Run> {
  return run("npm", ["run", "--silent", "bench", "--", ...args], process.env);
}

function run(program: string, args: string[], env: NodeJS.ProcessEnv): Promise<Run> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd: repositoryRoot, env, stdio: ["ignore", "pipe", "ignore"] });
    let output = "";
    child.stdout.on("data", (chunk) => {
      output += chunk;
    });
    child.on("error", reject);
    child.on("close", (code) => resolve({ code, output }));
  });
}

describe("npm run bench", () => {
  // How fast it is depends on what else runs, so only the shape counts here.
  it("prints one JSON object on the last line", { timeout: 120_000 }, async () => {
    const { code, output } = await bench("gate", "--json", "--rounds", "3");
    const report = JSON.parse(output.trimEnd().split("\n").at(-1)!);
    expect(report).toEqual({
      bench: "gate",
      machine: expect.any(String),
      at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      commit: expect.anything(),
      trial: { rounds: 3, messages: null, minutes: null },
      seconds: expect.any(Number),
      results: expect.any(Array),
      errors: [],
    });
    expect(report.results.map(({ name }: { name: string }) => name)).toContain("gate_ratio");
    for (const result of report.results) {
      const { peer = "", ...rest } = result;
      expect(peer).toEqual(expect.any(String));
      expect(rest).toEqual({
        name: expect.stringMatching(/^[a-z0-9_]+$/),
        value: expect.any(Number),
        unit: expect.any(String),
        target: expect.stringMatching(/^((<=|>=) [\d.]+|reported)$/),
        met: expect.any(Boolean),
      });
    }
    const missed = report.results.filter(({ met }: { met: boolean }) => !met);
    expect(code).toBe(missed.length === 0 ? 0 : 1);
  });

  it("tells of a bench that fails in the same JSON, and ends with 1", { timeout: 120_000 }, async () => {
    // Without the programs of the system there is no etcd to start.
    const env = { ...process.env, PATH: "" };
    const main = join(repositoryRoot, "bench/dist/main.js");
    const { code, output } = await run(process.execPath, [main, "failover", "--json", "--rounds", "1"], env);
    const { bench, results, errors } = JSON.parse(output.trimEnd().split("\n").at(-1)!);
    expect({ bench, results, errors }).toEqual({
      bench: "failover",
      results: [],
      errors: [{ bench: "failover", message: expect.stringContaining("etcd cannot be run") }],
    });
    expect(code).toBe(1);
  });

  it("refuses a bench that does not exist", { timeout: 60_000 }, async () => {
    const { code, output } = await bench("no-such-bench");
    expect(output).toBe("");
    expect(code).toBe(2);
  });
});
