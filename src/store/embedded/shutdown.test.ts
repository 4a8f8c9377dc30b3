import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import type { Exit, Launched } from "./launch.js";
import { type ShutdownStep, shutDown } from "./shutdown.js";

/** What it is deaf to need not be waited for; what it hears may take as long as a busy machine makes it. */
function stepsFor(ignored: readonly NodeJS.Signals[]): readonly ShutdownStep[] {
  const graceMs = (signal: NodeJS.Signals): number => (ignored.includes(signal) ? 100 : 20_000);
  return [
    { mode: "smart", signal: "SIGTERM", graceMs: graceMs("SIGTERM") },
    { mode: "fast", signal: "SIGINT", graceMs: graceMs("SIGINT") },
    { mode: "immediate", signal: "SIGQUIT", graceMs: graceMs("SIGQUIT") },
  ];
}

/** A process that stays for every signal but those it does not ignore. */
async function stubborn(...ignored: readonly NodeJS.Signals[]): Promise<Launched> {
  const script = `${ignored.map((signal) => `process.on("${signal}", () => {});`).join("")} setInterval(() => {}, 1000); console.log("up")`;
  const child = spawn(process.execPath, ["-e", script], { stdio: ["ignore", "pipe", "inherit"] });
  const exited = once(child, "exit").then(([code, signal]): Exit => ({ code, signal }));
  await once(child.stdout, "data");
  return { child, exited };
}

test.each([
  { mode: "smart", ignored: [], endedBy: "SIGTERM" },
  { mode: "fast", ignored: ["SIGTERM"], endedBy: "SIGINT" },
  { mode: "smart", ignored: ["SIGTERM", "SIGINT"], endedBy: "SIGQUIT" },
  { mode: "fast", ignored: ["SIGTERM", "SIGINT", "SIGQUIT"], endedBy: "SIGKILL" },
] as const)("a $mode stop of a process deaf to $ignored is ended by $endedBy", async ({ mode, ignored, endedBy }) => {
  const launched = await stubborn(...ignored);
  await shutDown(launched, mode, stepsFor(ignored));
  expect((await launched.exited).signal).toBe(endedBy);
});
