// Loads a config folder again and again, in a process of its own whose memory nobody else uses. Each version of the folder
// holds about a megabyte, so that a version that is never let go of is seen at once. Reports the heap as it goes along.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { ConfigFolder } from "../../dist/engine/config-folder/config-folder.js";

const [path, reloads, step] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])];
const folder = new ConfigFolder({ path });

const versionOf = (number) => `
  export const version: number = ${number};
  export const ballast = Array.from({ length: 100_000 }, (_, index) => index + version);
`;

let running = null;
const heapMegabytes = [];
for (let number = 1; number <= reloads; number += 1) {
  writeFileSync(join(path, "deep", "version.ts"), versionOf(number));
  const loaded = await folder.load();
  if (loaded.kind === "rejected") throw new Error(loaded.problems.join("\n"));
  const [choice] = loaded.graph.routers.get("adt").route({ type: String(number + 99_999) });
  if (choice !== "to-lab") throw new Error(`reload ${number} runs another version`);
  running = loaded;
  if (number % step === 0) {
    globalThis.gc();
    heapMegabytes.push(process.memoryUsage().heapUsed / 1e6);
  }
}
process.stdout.write(`${JSON.stringify({ heapMegabytes, hash: running.hash })}\n`);
