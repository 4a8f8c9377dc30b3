import { describe, expect, it } from "vitest";
import { plain } from "./paint.js";
import { prettyLine } from "./pretty-log.js";

const line = (fields: object): string =>
  prettyLine(JSON.stringify({ time: Date.UTC(2026, 0, 1), pid: 1, hostname: "h", name: "holdfast", ...fields }), plain);

describe("a log line for people", () => {
  it("has the time, the level, the message, and the fields that say something", () => {
    const said = line({ level: 30, role: "scheduler", epoch: 4, reason: "two words", msg: "elected" });
    expect(said).toMatch(/^\d\d:\d\d:00\.000 INFO {2}elected role=scheduler epoch=4 reason="two words"\n$/);
  });

  it.each([
    [60, "FATAL"],
    [50, "ERROR"],
    [40, "WARN"],
    [20, "DEBUG"],
    [10, "TRACE"],
    [35, "INFO"],
  ])("of level %d is %s", (level, word) => {
    expect(line({ level, msg: "x" })).toContain(` ${word} `);
  });

  it("puts the stack of an error below it", () => {
    const said = line({ level: 50, err: { message: "no", stack: "Error: no\n    at here" }, msg: "failed" });
    expect(said).toMatch(/ERROR failed\n {4}Error: no\n {8}at here\n$/);
  });

  it("lets nothing through that would steer the terminal, and passes on what is no JSON", () => {
    expect(line({ level: 30, msg: "a\u001b[2Jb", who: "c\u0007" })).toMatch(/ a \[2Jb who=c\n$/);
    expect(prettyLine("plain text\n", plain)).toBe("plain text\n");
    const unusual = { toString: null, valueOf: null };
    expect(line({ level: unusual, time: unusual, msg: "x" })).toMatch(/^\d\d:\d\d:00\.000 TRACE x\n$/);
  });
});
