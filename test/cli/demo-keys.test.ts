import { expect, it } from "vitest";
import { DemoProcess } from "../support/demo-process.js";

/** util-linux's `script` gives a program a terminal. */
const hasTerminals = process.platform === "linux";

it.runIf(hasTerminals)(
  "on a terminal k kills the leader, s freezes it, r revives, and q gives the screen back and leaves nothing",
  { timeout: 120_000 },
  async () => {
    await using demo = await DemoProcess.start({ onTerminal: true });
    const shows = (pattern: RegExp): Promise<void> => demo.until(() => pattern.test(demo.screen));
    await shows(/^node-\d leads, epoch \d+\s[\s\S]*no takeover yet/m);
    expect(demo.stdout).toContain("\u001b[?1049h");

    demo.press("k");
    await shows(/^node-\d killed: node-\d leads after [\d.]+ m?s, epoch \d+ \(the database: /m);
    expect(demo.screen).toMatch(/dead \(SIGKILL\)/);
    const { nodes } = await demo.cluster();

    demo.press("r");
    await shows(/^(?![\s\S]*(dead|starting))(?=[\s\S]*stands by[\s\S]*stands by)/);
    const revived = await demo.cluster();
    expect(revived.nodes.filter(({ status }) => status === "active")).toHaveLength(3);
    expect(revived.nodes.map(({ pid }) => pid)).not.toEqual(nodes.map(({ pid }) => pid));

    demo.press("s");
    await shows(/^nobody leads: (node-\d) was frozen [\s\S]*^\1 +frozen /m);
    demo.press("s");
    await shows(/^Nobody leads at this moment/m);
    await shows(/^node-\d frozen: node-\d leads after [\d.]+ s, epoch \d+ \(the database: /m);
    demo.press("r");
    await shows(/^(?![\s\S]*(frozen {2}|waking))(?=[\s\S]*stands by[\s\S]*stands by)/);

    demo.press("q");
    expect(await demo.exited).toEqual({ code: 0, signal: null });
    expect(demo.stdout).toContain("\u001b[?25h\u001b[?1049l");
    expect(await demo.remains()).toEqual([]);
  },
);
