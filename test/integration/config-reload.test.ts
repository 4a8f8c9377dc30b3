import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { ConfigFiles, hospital } from "../support/config-folder.js";

const program = fileURLToPath(new URL("config-reload.mjs", import.meta.url));
const reloads = 500;
const step = 50;
/** Each version holds 0.8 MB: one in twenty that stayed would be as much. */
const mostGrowthMegabytes = 20;

it("500 reloads of a config folder keep memory flat, and each runs what was written last", {
  timeout: 180_000,
}, async () => {
  await using folder = await ConfigFiles.write({
    ...hospital,
    "rules/adt.ts": `
      import { ballast } from "../deep/version.js";
      export const isAdt = (type: string): boolean => String(ballast.at(-1)) === type;
    `,
    "deep/version.ts": "export const ballast: readonly number[] = [];",
  });
  const args = ["--expose-gc", program, folder.path, String(reloads), String(step)];
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 170_000 });
  const { heapMegabytes } = JSON.parse(stdout) as { readonly heapMegabytes: readonly number[] };
  expect(heapMegabytes).toHaveLength(reloads / step);
  expect(Math.max(...heapMegabytes) - Math.min(...heapMegabytes)).toBeLessThan(mostGrowthMegabytes);
});
