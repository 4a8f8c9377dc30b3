import { describe, expect, test } from "vitest";
import { base64OfBytes, bytesOfBase64, charsetOf, decode } from "./body-decoding.js";

const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values);

describe("the charset of a body", () => {
  test("is the one that its content type names", () => {
    expect(charsetOf("application/hl7-v2; charset=iso-8859-1")).toBe("iso-8859-1");
    expect(charsetOf('text/plain; charset="UTF-8"')).toBe("utf-8");
    expect(charsetOf("text/plain")).toBe("utf-8");
  });

  test("is none where it is no text", () => {
    expect(charsetOf("application/octet-stream")).toBeNull();
    expect(charsetOf(null)).toBeNull();
  });
});

describe("decoding", () => {
  test("takes ISO 8859-1 for itself, and not for windows-1252 as browsers do", () => {
    expect(decode(bytes(0x80, 0xe9), "iso-8859-1")).toEqual({ text: "\x80é", charset: "iso-8859-1", exact: true });
  });

  test("keeps a byte order mark, which would be lost by editing otherwise", () => {
    expect(decode(bytes(0xef, 0xbb, 0xbf, 0x61), "utf-8").text).toBe("\ufeffa");
  });

  test("reads on where bytes are wrong, and says that the text is not exact", () => {
    expect(decode(bytes(0x61, 0xff, 0x62), "utf-8")).toEqual({ text: "a\ufffdb", charset: "utf-8", exact: false });
  });

  test("leaves the half of a last character out of a body that was cut, which is no mistake", () => {
    expect(decode(bytes(0x61, 0xc3), "utf-8", false)).toEqual({ text: "a", charset: "utf-8", exact: false });
  });

  test("knows the charsets of other countries, and shows one that no browser knows byte by byte", () => {
    expect(decode(bytes(0x93, 0xfa), "shift_jis").text).toBe("日");
    expect(decode(bytes(0x41, 0xe9), "x-nothing")).toEqual({ text: "Aé", charset: "iso-8859-1", exact: false });
  });

  test("takes a large body in one go", () => {
    expect(decode(new Uint8Array(1_000_000).fill(0x41), "us-ascii").text).toHaveLength(1_000_000);
  });

  test("has the bytes of base64, and base64 of bytes", () => {
    expect(bytesOfBase64("AP8=")).toEqual(bytes(0, 255));
    expect(base64OfBytes(bytes(0, 255))).toBe("AP8=");
  });
});
