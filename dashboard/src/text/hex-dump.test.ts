import { expect, test } from "vitest";
import { hexDump } from "./hex-dump.js";

test("bytes are shown sixteen a row, with what can be printed of them", () => {
  const bytes = new Uint8Array([0x0b, ...new TextEncoder().encode("MSH|^~\\&|LAB|é"), 0x1c, 0x0d]);
  expect(hexDump(bytes)).toEqual([
    { offset: "00000000", hex: "0b 4d 53 48 7c 5e 7e 5c  26 7c 4c 41 42 7c c3 a9", text: ".MSH|^~\\&|LAB|.." },
    { offset: "00000010", hex: "1c 0d", text: ".." },
  ]);
});

test("a large body has so many rows and no more", () => {
  expect(hexDump(new Uint8Array(100_000), 10)).toHaveLength(10);
});
