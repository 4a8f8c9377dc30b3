import { describe, expect, it } from "vitest";
import * as samples from "../../../../test/fuzz/hl7-samples.js";
import { peekHeader } from "./header.js";
import { Hl7Message } from "./message.js";

const peek = (text: string, encoding: BufferEncoding = "utf8") => peekHeader(Buffer.from(text, encoding));

describe("Peeking at the header", () => {
  it("tells what MSH says", () => {
    const header = peek(samples.admission).header!;
    expect(header).toMatchObject({
      separators: {
        field: "|",
        component: "^",
        repetition: "~",
        escape: "\\",
        subcomponent: "&",
        truncation: "",
      },
      type: "ADT^A01",
      controlId: "MSG00001",
      charset: "UNICODE UTF-8",
      sendingApplication: "HIS",
      sendingFacility: "ST MARY^1.2.276.0.76.4.17^ISO",
      receivingApplication: "ENGINE",
      receivingFacility: "HUB",
      processingId: "P",
      version: "2.5.1",
      acceptAck: "AL",
      applicationAck: "NE",
    });
    expect(Buffer.from(header.field(10)).toString()).toBe("MSG00001");
  });

  it("says ^ and ~ whatever the message's own separators are", () => {
    expect(peek(samples.otherSeparators).header?.type).toBe("ADT^A08");
    expect(peek("MSH$%*!@$$$$$$$ADT%A01$1$P$2.5$$$$$$ASCII*ISO IR87\r").header?.charset).toBe("ASCII~ISO IR87");
  });

  it("leaves empty what is not said", () => {
    expect(peek("MSH|^~\\&").header).toMatchObject({
      type: "",
      controlId: "",
      version: "",
      charset: "",
      acceptAck: "",
    });
    expect(peek("MSH|^~\\&|||||||ACK|7").header).toMatchObject({ type: "ACK", controlId: "7" });
  });

  it.each([
    ["", "It is empty."],
    ["\r\n", "It is empty."],
    ["PID|1", "It begins with other bytes than MSH."],
    ["DOE^JANE", "It begins with other bytes than MSH."],
    ["M\0S\0H\0|\0", "It begins with other bytes than MSH, as UTF-16 and UTF-32 do, which are not read."],
    ["MSH", "MSH-1 is missing; it separates the fields, usually |."],
    ["MSHX^~\\&", "MSH-1 is nothing that can separate fields; it is usually |."],
    ["MSH|", "MSH-2 is empty; it names the separators, usually ^~\\&."],
    ["MSH||A|B", "MSH-2 is empty; it names the separators, usually ^~\\&."],
    ["MSH|^~\\&#!|A", "MSH-2 is longer than 5 separators; it is usually ^~\\&."],
    ["MSH|^~\\A|B", "Character 4 of MSH-2 cannot separate anything; it is usually ^~\\&."],
    ["MSH|^~\\^|B", "MSH-2 names a separator twice; it is usually ^~\\&."],
  ])("says in one line why it is malformed: %j", (text, reason) => {
    expect(peek(text)).toEqual({ kind: "malformed", reason, header: null });
    expect(Hl7Message.read(Buffer.from(text))).toMatchObject({ kind: "malformed", reason, bytes: Buffer.from(text) });
  });

  it.each([
    "canary",
    "canary^JANE|1",
    "MSHcanary",
    "MSH|canary|JANE",
    "MSH|^~\\c|canary",
    "MSH|^^anary",
    `MSH|^~\\&|||||||canary\0|1`,
    `MSH|^~\\&|||||||ADT^A01|${"canary".repeat(40)}`,
  ])("never quotes a message in its reason: %j", (text) => {
    const { kind, reason } = peek(text);
    expect(kind).toBe("malformed");
    expect(reason).not.toMatch(/canar|JANE|nary/);
  });

  it.each([
    ["x".repeat(200), "MSH-10 has 200 bytes; at most 199 are taken."],
    ["a\0b", "MSH-10 holds a control character."],
    ["a\u00e9", "MSH-10 holds bytes that are not UTF-8."],
  ])("keeps a control id that nothing could be found by: %j", (controlId, reason) => {
    const peeked = peek(`MSH|^~\\&|A|B|C|D|||ADT^A01|${controlId}|P|2.5\r`, "latin1");
    expect(peeked).toMatchObject({ kind: "malformed", reason, header: { controlId, type: "ADT^A01" } });
  });

  it("never takes two control ids for the same", () => {
    const idOf = (byte: number) =>
      peekHeader(Buffer.concat([Buffer.from("MSH|^~\\&|||||||ADT^A01|"), Buffer.from([byte])])).header?.controlId;
    expect(new Set([0xe8, 0xe9, 0xfe, 0xff].map(idOf)).size).toBe(4);
  });

  it("refuses a first segment that does not end", () => {
    const reason = "MSH is longer than 65536 bytes, or no line ends in it.";
    expect(peek(`MSH|^~\\&|${"x".repeat(70_000)}`)).toEqual({ kind: "malformed", reason, header: null });
    expect(peek(`MSH|^~\\&|${"x".repeat(65_000)}\rPID|1\r${"x".repeat(70_000)}`).kind).toBe("read");
    expect(peek(`MSH|^~\\&|${"x".repeat(65_536 - 9)}`).kind).toBe("read");
  });
});
