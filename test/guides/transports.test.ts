import { expect, it } from "vitest";
import { runHere } from "../support/command.js";
import { ConfigFiles } from "../support/config-folder.js";
import { blocksOf } from "../support/guide.js";

const block = blocksOf("transports");

const kinds = ["tcp", "http", "file", "sftp", "database"];

/** The transports of a block as they would stand in a folder: the first takes messages in, the second sends them. */
function moduleOf(kind: string): string {
  const transports = block(kind)
    .text.replace(/ \/\/.*$/gm, "")
    .replace(/\}\n\{/g, "},\n{");
  return `
import { defineInbound, defineOutbound } from "holdfast/engine";
const [source, sink] = [${transports}];
const inbound = defineInbound({ name: "${kind}-in", router: "adt", transport: source as never });
export const all = [
  inbound,
  ...(sink === undefined ? [] : [defineOutbound({ name: "${kind}-out", transport: sink as never })]),
];
`;
}

const graph = (outbounds: readonly string[]): string => `
import { defineHandler, defineRouter } from "holdfast/engine";
export const adt = defineRouter({ name: "adt", handlers: ["to-all"], route: () => ["to-all"] });
export const toAll = defineHandler({ name: "to-all", outbounds: ${JSON.stringify(outbounds)}, handle: () => [] });
`;

it("each transport that it shows is one that a folder may have", async () => {
  const outbounds = ["lab", ...kinds.filter((kind) => kind !== "sftp").map((kind) => `${kind}-out`)];
  const files: Record<string, string> = { "mllp.ts": block("config/mllp.ts").text, "graph.ts": graph(outbounds) };
  for (const kind of kinds) files[`${kind}.ts`] = moduleOf(kind);
  await using folder = await ConfigFiles.write(files);
  const { code, stdout, stderr } = await runHere(["config", "check", folder.path]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toMatch(/^This graph is sound: 6 inbounds, 1 handler, 5 outbounds\./m);
  // Nobody names what is not there.
  expect(stdout).not.toContain("warning");
});

it("a transport that is wrong would be told", async () => {
  const wrong = moduleOf("tcp").replace('delimiter: "\\n"', 'delimiters: "\\n"');
  await using folder = await ConfigFiles.write({ "tcp.ts": wrong, "graph.ts": graph(["tcp-out"]) });
  expect((await runHere(["config", "check", folder.path])).code).toBe(2);
});
