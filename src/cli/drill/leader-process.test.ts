import { spawn } from "node:child_process";
import { once } from "node:events";
import { hostname } from "node:os";
import { describe, expect, it } from "vitest";
import { checkProcess } from "./leader-process.js";

const registered = { nodeId: "a", host: hostname(), startedAt: null };
const now = (): number => Date.now() / 1000;

describe("the process that a drill is about to signal", () => {
  it("must be on this host", () => {
    expect(() => checkProcess({ ...registered, host: "elsewhere", pid: 1 })).toThrow("run the drill on elsewhere");
  });

  it("must be there", async () => {
    const child = spawn(process.execPath, ["-e", "0"]);
    await once(child, "exit");
    expect(() => checkProcess({ ...registered, pid: child.pid ?? 0 })).toThrow("is not there");
  });

  it("must not be the drill itself", () => {
    expect(() => checkProcess({ ...registered, pid: process.pid })).toThrow("this very process");
  });

  it.runIf(process.platform === "linux")("must be Node.js, and not younger than the node", async () => {
    const sleeper = spawn("sleep", ["60"]);
    const node = spawn(process.execPath, ["-e", "setTimeout(() => {}, 60000)"]);
    try {
      await Promise.all([once(sleeper, "spawn"), once(node, "spawn")]);
      expect(() => checkProcess({ ...registered, pid: sleeper.pid ?? 0 })).toThrow("no Node.js");
      const pid = node.pid ?? 0;
      expect(() => checkProcess({ ...registered, pid, startedAt: now() - 3_600 })).toThrow("younger than node");
      expect(() => checkProcess({ ...registered, pid, startedAt: now() })).not.toThrow();
    } finally {
      sleeper.kill("SIGKILL");
      node.kill("SIGKILL");
    }
  });
});
