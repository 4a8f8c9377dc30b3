/**
 * `node scripts/recording.mjs`: plays the demo on a terminal of its own, kills its leader, brings it back, freezes the next, and
 * writes what was on the screen meanwhile to docs/images/failover.svg, at the pace at which it happened.
 */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { animatedScreen } from "./animated-screen.mjs";

const [columns, rows] = [94, 17];
const target = "docs/images/failover.svg";
const longestMs = 120_000;

const folder = mkdtempSync(join(tmpdir(), "holdfast-recording-"));
const program = [process.execPath, resolve("dist/cli/main.js"), "demo", "--data-dir", folder].join(" ");
const child = spawn("script", ["-qefc", `stty rows ${rows} cols ${columns}; exec ${program}`, "/dev/null"], {
  stdio: ["pipe", "pipe", "inherit"],
  env: { ...process.env, TERM: "xterm", NO_COLOR: undefined },
});
const gone = new Promise((end) => child.once("exit", end));
const deadline = setTimeout(() => {
  console.error("The demo did not get through the recording in time.");
  child.kill();
}, longestMs);

let written = "";
const frames = [];
const watchers = new Set();
child.stdout.setEncoding("utf8").on("data", (text) => {
  written += text;
  // A frame is whole when the screen is cleared below it.
  for (let end = written.indexOf("\u001b[J"); end >= 0; end = written.indexOf("\u001b[J")) {
    const start = written.lastIndexOf("\u001b[H", end);
    if (start >= 0) frames.push({ at: performance.now(), lines: linesOf(written.slice(start + 3, end)) });
    written = written.slice(end + 3);
  }
  for (const look of watchers) look();
});

const screen = () => frames.at(-1)?.lines.join("\n") ?? "";
const shows = (pattern) =>
  new Promise((seen) => {
    const look = () => {
      if (!pattern.test(screen())) return;
      watchers.delete(look);
      seen();
    };
    watchers.add(look);
    look();
  });
const forAWhile = (ms) => new Promise((next) => setTimeout(next, ms));
const press = (key) => child.stdin.write(key);

await Promise.race([play(), gone.then(() => Promise.reject(new Error("The demo ended too early.")))]);
clearTimeout(deadline);
press("q");
await gone;
rmSync(folder, { recursive: true, force: true });

async function play() {
  await shows(/leads, epoch 1/);
  const from = frames.length - 1;
  await forAWhile(1_500);
  press("k");
  await shows(/killed: node-\d leads after/);
  await forAWhile(3_000);
  press("r");
  await shows(/stands by[\s\S]*stands by/);
  await forAWhile(1_500);
  press("s");
  await shows(/frozen: node-\d leads after/);
  await forAWhile(3_500);
  const kept = frames.slice(from);
  const began = kept[0].at;
  const seconds = Number(((performance.now() - began) / 1_000).toFixed(2));
  const title =
    "The demo of Holdfast: the leader is killed, and another leads within milliseconds; the next is frozen, and its lease runs out";
  const timed = kept.map(({ at, lines }) => ({ at: Number(((at - began) / 1_000).toFixed(3)), lines }));
  writeFileSync(target, animatedScreen(timed, { columns, seconds, title }));
  console.log(`${target}: ${seconds} s, ${timed.length} screens`);
}

/** The last line says where the logs are: a folder of this run, which is gone. */
function linesOf(frame) {
  const lines = frame.split(/\r*\n/).map((line) => line.replaceAll("\u001b[K", ""));
  return lines.filter((line) => !line.includes("logs and the address")).map((line) => line.trimEnd());
}
