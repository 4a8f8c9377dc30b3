import { describe, expect, it } from "vitest";
import { bodyOfText, kindOfBody } from "./body-text.js";

/** A message that says in MSH-18 how it is written. */
const written = (charset: string, name: string): string =>
  `MSH|^~\\&|HIS|WARD|HF|HUB|20260131||ADT^A01|1|P|2.5||||||${charset}\rPID|1||${name}\r`;

describe("the kind of a body", () => {
  it.each([
    ["", "utf-8"],
    ["UNICODE UTF-8", "utf-8"],
    ["ASCII", "us-ascii"],
    ["8859/1", "iso-8859-1"],
    ["8859/15", "iso-8859-15"],
    ["windows-1252", "windows-1252"],
    ["GB 18030-2000", "gb18030"],
    ["KS X 1001", "euc-kr"],
    ["ISO IR87", "iso-2022-jp"],
    ["SHIFT_JIS", "shift_jis"],
    ["nobody's", "utf-8"],
  ])("of HL7 that names %j is HL7 in %s, which every client can read", (declared, charset) => {
    const { contentType, extension } = kindOfBody(Buffer.from(written(declared, "Smith")));
    expect([contentType, extension]).toEqual([`application/hl7-v2; charset=${charset}`, "hl7"]);
    expect(() => new TextDecoder(charset)).not.toThrow();
  });

  it("of HL7 that names none is what its connection assumes", () => {
    expect(kindOfBody(Buffer.from(written("", "Smith")), "8859/1").contentType).toBe(
      "application/hl7-v2; charset=iso-8859-1",
    );
  });

  it.each([
    ["a page", Buffer.from("<html><script>alert(1)</script>"), "text/plain; charset=utf-8", "txt"],
    ["text", Buffer.from("Größe 雪"), "text/plain; charset=utf-8", "txt"],
    ["nothing", Buffer.alloc(0), "text/plain; charset=utf-8", "txt"],
    ["bytes", Buffer.from([0xff, 0x41]), "application/octet-stream", "bin"],
    ["a picture", Buffer.from([0x47, 0x49, 0x46, 0x38, 0x00]), "application/octet-stream", "bin"],
  ])("of %s is never what a browser would run", (_what, body, contentType, extension) => {
    expect(kindOfBody(body)).toEqual({ contentType, extension });
  });
});

describe("a body that somebody wrote as text", () => {
  it("is written in the charset that it names, or else in the one that is assumed", () => {
    const [named, unnamed] = [written("8859/1", "Größe"), written("", "Größe")];
    expect(bodyOfText(named).toString("latin1")).toBe(named);
    expect(bodyOfText(unnamed).toString("utf8")).toBe(unnamed);
    expect(bodyOfText(unnamed, "8859/1").toString("latin1")).toBe(unnamed);
    expect(bodyOfText("Größe", "8859/1").toString("latin1")).toBe("Größe");
    expect(bodyOfText("雪").toString()).toBe("雪");
  });

  it.each([
    [written("8859/1", "雪"), "8859/1"],
    [written("ASCII", "Größe"), "ASCII"],
    ["\ud800", "UTF-8"],
  ])("is refused where a character has no place in it", (text, charset) => {
    expect(() => bodyOfText(text)).toThrow(
      `body holds a character that the message's charset (${charset}) does not have: send it as base64, or change MSH-18.`,
    );
  });
});
