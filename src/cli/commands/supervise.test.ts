import { describe, expect, it } from "vitest";
import { FakeCommandLine } from "../../../test/support/fake-command-line.js";
import { run } from "../run.js";

describe("holdfast supervise", () => {
  it.each([
    [[], "supervisor.moonlight = true needs --ops DIR: the operations that the agent runs. [USAGE]"],
    [
      ["--ops", "/nowhere/at-all"],
      "--ops must name a directory that can be read, and /nowhere/at-all is none. [USAGE]",
    ],
    [["--ops", "/", "--agent-url", "elsewhere"], "--agent-url must be an address like http://127.0.0.1:7400"],
    [["--ops", "/", "--agent-url", "http://me:secret@elsewhere"], "without credentials"],
    [["--service-config", "/nowhere.toml"], "/nowhere.toml"],
  ])("is refused with 2, and starts nothing, where it is called with %j", async (args, message) => {
    const cli = new FakeCommandLine({ env: { HOLDFAST_SUPERVISOR_MOONLIGHT: "true" }, cwd: "/" });
    expect(await run(["supervise", ...args], cli)).toBe(2);
    expect(cli.complained).toContain(message);
    expect(cli.complained).not.toContain("secret");
    expect(cli.written).toBe("");
    expect(cli.isQuiet).toBe(true);
  });

  it("is refused where the settings are wrong, before a child could say so", async () => {
    const cli = new FakeCommandLine({ env: { HOLDFAST_CLUSTER_HEARTBEAT_SECONDS: "soon" }, cwd: "/" });
    expect(await run(["supervise"], cli)).toBe(2);
    expect(cli.complained).toContain("[BAD_SETTINGS]");
    expect(cli.written).toBe("");
  });
});
