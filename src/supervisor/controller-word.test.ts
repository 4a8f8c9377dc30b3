import { describe, expect, it } from "vitest";
import { readWord } from "./controller-word.js";

describe("a word of a controller", () => {
  it.each([
    { kind: "role", role: "LEADER" },
    { kind: "role", role: "DRAINING" },
    { kind: "serving", node_id: "a", url: "http://a" },
  ])("is read as it was said: %j", (word) => {
    expect(readWord(word)).toEqual(word);
  });

  it.each([
    null,
    "LEADER",
    7,
    [],
    {},
    { kind: "role", role: "KING" },
    { kind: "serving", node_id: "a" },
    { kind: "x" },
  ])("is not found in %j", (message) => {
    expect(readWord(message)).toBeNull();
  });
});
