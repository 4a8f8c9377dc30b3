import { describe, expect, it } from "vitest";
import { writeYaml } from "./yaml.js";

describe("YAML", () => {
  it("is written in blocks, with what is more than a word in quotes", () => {
    const value = {
      groups: [
        { name: "a b", rules: [{ alert: "x", for: "30s", labels: { on: "yes", "it's": "5" } }, { alert: "null" }] },
        { name: "empty", rules: [] },
      ],
      list: ["one", "two: three", "- four", "", "#"],
    };
    expect(writeYaml(value)).toBe(`groups:
  - name: 'a b'
    rules:
      - alert: x
        for: 30s
        labels:
          'on': 'yes'
          'it''s': '5'
      - alert: 'null'
  - name: empty
list:
  - one
  - 'two: three'
  - '- four'
  - ''
  - '#'
`);
  });

  it("keeps what cannot be printed", () => {
    const written = writeYaml({ text: 'a\nb\u2028c\u0007"\\\u{e0001}' });
    expect(written.trimEnd()).toBe(String.raw`text: "a\u000ab\u2028c\u0007\"\\\U000e0001"`);
  });
});
