import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { processesIn } from "../support/demo-process.js";
import { heirOf } from "../support/election.js";
import { freePorts } from "../support/free-ports.js";
import { blocksOf, Guide, patience } from "../support/guide.js";
import { resultOf } from "../support/installed-project.js";

const block = blocksOf("demo");

it("the demo is started, its leader killed by hand, and another leads", patience, async () => {
  const port = await freePorts(3);
  await using guide = await Guide.open("demo");
  /** Other tests may have the usual ports. */
  const elsewhere = (name: string): string =>
    block(name)
      .text.replaceAll("7400", String(port))
      .replaceAll("7401", String(port + 1));
  const follow = async (name: string, env: Readonly<Record<string, string>> = {}) =>
    await guide.project.run({ name, language: "sh", text: elsewhere(name), line: 1 }, { env });

  const text = elsewhere("demo").replace("holdfast demo", `holdfast demo --port ${port}`);
  const demo = await guide.project.start({ name: "demo", language: "sh", text, line: 1 });
  const [, leader = ""] = await demo.line(
    /^ready: http:\/\/127\.0\.0\.1:\d+ is the dashboard \(3 nodes, (node-\d) leads\)$/,
  );
  if (leader !== "node-1") {
    const stepDown = ["leader", "step-down", "scheduler", "--to", "node-1", "--url", `http://127.0.0.1:${port}`];
    expect((await resultOf(guide.project.command(["holdfast", ...stepDown]))).code).toBe(0);
  }
  await guide.write("report.mjs", "console.log(new URL(process.env.DATABASE_URL).protocol);\n");
  expect((await follow("database")).stdout).toBe("postgres:");
  const { stdout } = await follow("look");
  const [, pid = ""] = stdout.match(/^node-1 +active +yes .* (\d+) +http/m) ?? [];
  expect(pid).not.toBe("");
  const address = await readFile(join(guide.project.directory, `.holdfast/demo/${port}/database.url`), "utf8");
  await heirOf(address.trim(), "scheduler", { fresh: true, schema: "holdfast_demo" });
  await follow("kill", { PID: pid });
  const after = async (): Promise<string> => (await follow("after")).stdout;
  await expect.poll(after, { timeout: 60_000 }).toMatch(/ elected +evidence +node-[23] +node-1 /m);
  await expect.poll(after, { timeout: 60_000 }).toMatch(/^scheduler +node-[23] /m);
  await demo.end("SIGINT");
  expect(processesIn(guide.project.directory)).toEqual([]);
});
