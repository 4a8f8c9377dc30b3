import { describe, expect, it } from "vitest";
import { oneLine, paintFor } from "./paint.js";

const screen = { write: () => undefined, isTTY: true, columns: 80, rows: 24 };

describe("colour", () => {
  it("is for a terminal", () => {
    expect(paintFor(screen, {})("bad", "x")).toBe("\u001b[31mx\u001b[0m");
    expect(paintFor({ ...screen, isTTY: false }, {})("bad", "x")).toBe("x");
  });

  it.each([
    [{ NO_COLOR: "1" }, "x"],
    [{ TERM: "dumb" }, "x"],
    [{ NO_COLOR: "" }, "\u001b[31mx\u001b[0m"],
  ])("with %o is %j", (env, painted) => {
    expect(paintFor(screen, env)("bad", "x")).toBe(painted);
  });
});

describe("text from elsewhere", () => {
  it("is kept to one line, and without what steers a terminal", () => {
    expect(oneLine(" a\r\nb\u001b]0;title\u0007c\u2028d\u202e ")).toBe("a b ]0;title c d");
  });
});
