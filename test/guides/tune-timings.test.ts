import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { blocksOf, Guide, patience } from "../support/guide.js";
import { createTestDatabase } from "../support/postgres.js";
import { loadText } from "../support/settings.js";
import { startTcpProxy } from "../support/tcp-proxy.js";

const block = blocksOf("tune-timings");
const page = readFileSync(join(import.meta.dirname, "../../docs/guides/tune-timings.md"), "utf8");
const files = ["same-region.toml", "same-building.toml", "far-away.toml"];

/** What the sentence above a block says that follows from it. */
function saidOf(file: string): { readonly requestMs: number; readonly stallMs: number } {
  const before = page.slice(0, page.indexOf(`<!-- file: ${file} -->`));
  const [, request, stall] = [...before.matchAll(/A request may take (\d+) ms; a stall costs (\d+) s/g)].at(-1) ?? [];
  return { requestMs: Number(request), stallMs: Number(stall) * 1000 };
}

describe("the three sets", () => {
  test.each(files)("%s is accepted, and has the consequences that the guide states", (file) => {
    const { timing } = loadText(block(file).text).config;
    const { requestMs, stallMs } = saidOf(file);
    expect(timing.requestTimeoutMs).toBeCloseTo(requestMs);
    expect(timing.ttlMs).toBe(stallMs);
  });

  test("the first of them is what a node has that states nothing", () => {
    expect(loadText(block("same-region.toml").text).config.timing).toEqual(loadText("").config.timing);
  });
});

test(
  "over a slow line the doctor finds timings for one building a problem, and those for far away good",
  async () => {
    await using database = await createTestDatabase();
    const { hostname, port } = new URL(database.url);
    await using line = await startTcpProxy({ host: hostname, port: Number(port) });
    const delayMs = 90;
    line.passage = {
      toServer: (bytes, { server }) => void setTimeout(() => server.write(bytes), delayMs),
      toClient: (bytes, { client }) => void setTimeout(() => client.write(bytes), delayMs),
    };
    const env = { HOLDFAST_STORE_URL: line.through(database.url), HOLDFAST_CLUSTER_ENABLED: "true" };
    await using guide = await Guide.open("tune-timings", env);
    const verdictWith = async (file: string): Promise<string | undefined> => {
      await guide.project.write({ ...block(file), name: "holdfast.toml" });
      const { stdout, stderr } = await guide.attempt("measure");
      if (!stdout.startsWith("{")) throw new Error(`the doctor did not answer: ${stdout}${stderr}`);
      const { findings } = JSON.parse(stdout) as {
        readonly findings: readonly { readonly check: string; readonly verdict: string }[];
      };
      return findings.find(({ check }) => check === "timings")?.verdict;
    };
    expect(await verdictWith("same-building.toml")).toBe("problem");
    expect(await verdictWith("far-away.toml")).toBe("ok");
  },
  patience.timeout,
);
