/**
 * What a node-controller may start in place of `holdfast agent`: says how it was called, and behaves as STAND_IN_AGENT asks:
 * "obeys" (stops at SIGTERM), "stubborn" (does not, and has a process of its own) or "crashes" (ends at once).
 */
import { spawn } from "node:child_process";

const behaviour = process.env.STAND_IN_AGENT ?? "obeys";
const seen = {
  words: process.argv.slice(2),
  token: process.env.HOLDFAST_TOKEN ?? null,
  settings: Object.keys(process.env)
    .filter((name) => name.startsWith("HOLDFAST_"))
    .toSorted(),
};

// Nobody reads what it says when its supervisor has been killed.
process.stdout.on("error", () => undefined);
process.on("SIGTERM", () => {
  if (behaviour === "stubborn") process.stdout.write("a signal is not heard\n");
  else process.exit(0);
});
if (behaviour === "stubborn") {
  spawn(process.execPath, ["-e", "setInterval(() => undefined, 60_000)"], { stdio: "ignore" });
}
process.stdout.write(`${JSON.stringify({ level: 30, msg: "stand-in agent", ...seen })}\n`);
if (behaviour === "crashes") {
  process.stderr.write("it does not work\n");
  process.exitCode = 1;
} else setInterval(() => undefined, 60_000);
