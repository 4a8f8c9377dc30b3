import { spawn } from "node:child_process";
import { describe, expect, it } from "vitest";
import { repositoryRoot } from "./source-tree.js";

function bench(...args: string[]): Promise<{ readonly code: number | null; readonly output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn("npm", ["run", "--silent", "bench", "--", ...args], {
      cwd: repositoryRoot,
      stdio: ["ignore", "pipe", "ignore"],
    });
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
    expect(report).toEqual({ bench: "gate", machine: expect.any(String), results: expect.any(Array) });
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

  it("refuses a bench that does not exist", { timeout: 60_000 }, async () => {
    const { code, output } = await bench("no-such-bench");
    expect(output).toBe("");
    expect(code).toBe(2);
  });
});
