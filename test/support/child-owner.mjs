/** Starts one child as a node-controller does, tells its pid and passes on what it writes, until it is killed itself. */
import { startChild } from "../../dist/supervisor/child-process.js";

const [script, graceMs] = process.argv.slice(2);
const child = startChild({
  child: "agent",
  words: [script],
  env: process.env,
  cwd: process.cwd(),
  graceMs: Number(graceMs),
  silenceMs: 0,
});
child.stdout.pipe(process.stdout);
child.stderr.pipe(process.stderr);
process.stdout.write(`pid ${child.pid}\n`);
