/**
 * A gate of `npm run check`: all that a browser loads of the dashboard, as it goes over the wire, stays small enough for a bad
 * line on a bad night.
 */
import { readdirSync, statSync } from "node:fs";
import { join, relative } from "node:path";

const mostBytes = 150_000;
const page = join(process.cwd(), "dist/dashboard");

const files = readdirSync(page, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith(".gz"))
  .map((entry) => join(entry.parentPath, entry.name))
  .map((file) => ({ name: relative(page, file), bytes: statSync(file).size }));
const bytes = files.reduce((sum, file) => sum + file.bytes, 0);

console.log(`the dashboard has ${bytes} bytes gzipped, of ${mostBytes} at the most`);
if (files.length === 0 || bytes > mostBytes) {
  for (const file of files) console.log(`  ${file.name} ${file.bytes}`);
  process.exitCode = 1;
}
