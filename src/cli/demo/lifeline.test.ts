import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Duplex } from "node:stream";
import { expect, it } from "vitest";
import { guardianFd, lifelineCommand } from "./lifeline.js";

async function startGuarded() {
  const [first, ...rest] = [...lifelineCommand("guardian"), "sh", "-c", "echo up; exec sleep 60"];
  const child = spawn(first, rest, { stdio: ["ignore", "pipe", "inherit", "pipe"], detached: true });
  const exited = once(child, "exit");
  const pipe = child.stdio[guardianFd] as Duplex;
  await once(child.stdout as NodeJS.ReadableStream, "data");
  return { child, exited, pipe };
}

it("a guardian kills a process whose parent is gone, frozen or not", async () => {
  const { child, exited, pipe } = await startGuarded();
  child.kill("SIGSTOP");
  pipe.destroy();
  expect(await exited).toEqual([null, "SIGKILL"]);
});

it("a guardian that is dismissed kills nobody", async () => {
  const { child, exited, pipe } = await startGuarded();
  // Closed from both ends: the guardian has gone.
  const closed = once(pipe.resume(), "close");
  pipe.end("\n");
  await closed;
  child.kill("SIGTERM");
  expect(await exited).toEqual([null, "SIGTERM"]);
});

it.runIf(process.platform === "linux")("a process that finds its parent gone does not even start", async () => {
  const [first, ...rest] = [...lifelineCommand("kernel"), "echo", "started"];
  const adopted = spawn("sh", ["-c", '"$@"; exit $?', "sh", first, ...rest], { stdio: ["ignore", "pipe", "inherit"] });
  const own = spawn(first, rest, { stdio: ["ignore", "pipe", "inherit"] });
  const exits = await Promise.all([once(adopted, "exit"), once(own, "exit")]);
  expect(exits).toEqual([
    [1, null],
    [0, null],
  ]);
});
