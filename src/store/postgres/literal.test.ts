import { expect, it } from "vitest";
import { quoted, storable } from "./literal.js";

it("a literal ends where its text does, whatever is in it", () => {
  expect(quoted("it's \\ $1 $$")).toBe("$hf$it's \\ $1 $$$hf$");
  expect(quoted("a $hf$ b")).toBe("$hf0$a $hf$ b$hf0$");
  expect(quoted("$hf$ $hf0$ $hf1$")).toBe("$hf2$$hf$ $hf0$ $hf1$$hf2$");
});

it("a text that ends like a tag begins does not end the literal early", () => {
  // "$hf" and the "$" of the closing tag would be read as one.
  const literal = quoted("tail $hf");
  expect(literal.indexOf(literal.slice(0, literal.indexOf("tail")), 4)).toBe(literal.length - literal.indexOf("tail"));
});

it("what a database cannot store is replaced, and all else stays", () => {
  expect(storable("grüße ☃ 🎈")).toBe("grüße ☃ 🎈");
  expect(storable("a\0b\ud800c")).toBe("a\uFFFDb\uFFFDc");
});
