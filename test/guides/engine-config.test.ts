import { describe, expect, it } from "vitest";
import { runHere } from "../support/command.js";
import { ConfigFiles } from "../support/config-folder.js";
import { blocksOf, Guide, patience } from "../support/guide.js";

const block = blocksOf("engine-config");

const shown = ["config/adt.ts", "config/lab.ts", "config/wards.csv", "config/rules/adt.ts"];

it("the folder that it shows is sound, and is told as a table and as JSON", patience, async () => {
  await using guide = await Guide.open("engine-config");
  await guide.writeShown(...shown);
  const { stdout } = await guide.run("check");
  expect(stdout).toMatch(/^inbound +adt-in +adt\.ts +mllp :2575 +adt$/m);
  expect(stdout).toMatch(/^This graph is sound: 1 inbound, 1 handler, 1 outbound\./m);
  expect(JSON.parse(stdout.slice(stdout.indexOf("{")))).toMatchObject({ ok: true, warnings: [] });
});

describe("what is wrong with a folder is told as it says", () => {
  const adt = block("config/adt.ts").text;
  const lab = block("config/lab.ts").text;
  const echo = `
import { defineHandler, defineInbound, defineOutbound, defineRouter, send } from "holdfast/engine";
export const echoIn = defineInbound({ name: "echo-in", router: "echo", transport: { kind: "mllp", port: 2600 } });
export const echo = defineRouter({ name: "echo", handlers: ["to-echo"], route: () => ["to-echo"] });
export const toEcho = defineHandler({
  name: "to-echo", outbounds: ["echo-out"], handle: (message) => [send("echo-out", message.body)],
});
export const echoOut = defineOutbound({
  name: "echo-out", transport: { kind: "mllp", host: "localhost", port: 2600 },
});
`;
  const secondInbound = `
import { defineInbound } from "holdfast/engine";
export const labIn = defineInbound({ name: "lab-in", router: "adt", transport: { kind: "mllp", port: 2575 } });
`;
  const oldLab = `
import { defineOutbound } from "holdfast/engine";
export const lab = defineOutbound({ name: "lab", transport: { kind: "mllp", host: "old", port: 6661 } });
`;
  const port = "Number(process.env.ADT_PORT ?? 2575)";
  /** Each problem of the guide, by what it says, and the files that have it. */
  const broken: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
    ['Expected ")" but found ";"', { "adt.ts": adt.replace("\n});", "\n};") }],
    ["must be a whole number from 0 to 65535", { "adt.ts": adt.replace(port, "70_000") }],
    ['did you mean "adt"?', { "adt.ts": adt.replace('router: "adt"', 'router: "atd" as "adt"') }],
    ["is also defined in", { "adt.ts": adt, "old-lab.ts": oldLab }],
    ["listens on port 2575", { "adt.ts": adt.replace(port, "2575"), "lab.ts": lab + secondInbound }],
    ["gets back what it took in", { "adt.ts": adt, "echo.ts": echo }],
  ];
  const problems = block("problems").text.trimEnd().split("\n");

  it("has one for each line", () => {
    expect(problems.map((line) => broken.filter(([says]) => line.includes(says)).length)).toEqual(
      problems.map(() => 1),
    );
  });

  it.each(broken)("%s", async (says, files) => {
    const rest = { "lab.ts": lab, "wards.csv": block("config/wards.csv").text };
    const rules = { "rules/adt.ts": block("config/rules/adt.ts").text };
    await using folder = await ConfigFiles.write({ ...rest, ...rules, ...files });
    const { code, stderr } = await runHere(["config", "check", folder.path]);
    expect(code).toBe(2);
    // Where in the file it stands is the file's.
    const placeless = (line: string): string => line.replace(/:\d+:\d+: /, ": ");
    const line = problems.find((problem) => problem.includes(says)) ?? "";
    expect(placeless(stderr)).toContain(placeless(line));
  });
});
