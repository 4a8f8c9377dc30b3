import { it } from "vitest";
import { DemoProcess, repositoryRoot } from "../support/demo-process.js";

const onLinux = process.platform === "linux";

// Side by side: they wait more than they work, and none of them measures anything.
it.runIf(onLinux).concurrent.for(["SIGTERM", "SIGHUP", "SIGKILL"] as const)(
  "npm start ends with npm, and leaves nothing, when npm gets a %s",
  { timeout: 120_000 },
  async (signal, { expect }) => {
    const command = ["npm", "--silent", "start", "--"];
    await using demo = await DemoProcess.start({ nodes: 1, command, cwd: repositoryRoot });
    expect(demo.stdout).toBe(`ready: ${demo.url(0)} is the dashboard (1 node, node-1 leads)\n`);
    expect(await demo.remains()).not.toEqual([]);
    demo.child.kill(signal);
    await demo.exited;
    await expect.poll(() => demo.remains(), { timeout: 30_000 }).toEqual([]);
  },
);
