import { describe, expect, it } from "vitest";
import * as samples from "../../../../test/fuzz/hl7-samples.js";
import { ackMode, isAckWanted, readAcknowledgement } from "./acknowledged.js";
import { type AckContent, acknowledge } from "./acknowledgement.js";
import { peekHeader } from "./header.js";
import { Hl7Message } from "./message.js";

const headerOf = (text: string) => peekHeader(Buffer.from(text)).header;

function answer(text: string, content: Partial<AckContent> = {}): string {
  const whole = { code: "AA", controlId: "R1", at: "20260131120000", ...content } as const;
  return Buffer.from(acknowledge(headerOf(text), whole)).toString();
}

describe("An acknowledgement", () => {
  it("goes back to the sender, in the message's version and charset, for its control id", () => {
    expect(answer(samples.admission)).toBe(
      "MSH|^~\\&|ENGINE|HUB|HIS|ST MARY^1.2.276.0.76.4.17^ISO|20260131120000||ACK^A01^ACK|R1|P|2.5.1||||||UNICODE UTF-8\rMSA|AA|MSG00001\r",
    );
  });

  it("has as many components in its type as the message has", () => {
    expect(answer(samples.results)).toContain("||ACK^R01|R1|P|2.3||||||8859/1\r");
    expect(answer("MSH|^~\\&|A|B|C|D|||ADT|7|P|2.1\r")).toBe(
      "MSH|^~\\&|C|D|A|B|20260131120000||ACK|R1|P|2.1\rMSA|AA|7\r",
    );
  });

  it("is written with the separators of the message", () => {
    expect(answer(samples.otherSeparators, { code: "AE", text: "50$ and 5% | more" })).toBe(
      "MSH$%*!@#$$$APP$FAC$20260131120000$$ACK%A08%ACK$R1$P$2.8\rMSA$AE$ID 9$50!F! and 5!S! | more\r",
    );
  });

  it("says what was wrong, and where, as the version has it", () => {
    const error = { code: "101", text: "Required field missing", path: "PID-3[2].1" };
    expect(answer(samples.admission, { code: "AE", text: "no | id", error })).toContain(
      "\rMSA|AE|MSG00001|no \\F\\ id\rERR||PID^1^3^2^1|101^Required field missing^HL70357|E\r",
    );
    expect(answer(samples.results, { code: "AR", error: { code: "207", text: "it & that" } })).toContain(
      "\rMSA|AR|LAB-20260131-00077\rERR|^^^207&it \\T\\ that&HL70357\r",
    );
    expect(answer(samples.results, { code: "AR", error })).toContain(
      "ERR|PID^1^3^101&Required field missing&HL70357\r",
    );
  });

  it("answers bytes that are no HL7, too", () => {
    const at = "20260131120000";
    const bytes = acknowledge(null, { code: "AR", controlId: "R1", at, text: "Größe\0" });
    expect(Buffer.from(bytes).toString()).toBe("MSH|^~\\&|||||20260131120000||ACK|R1\rMSA|AR||Gr??e?\r");
  });

  it("holds the control id byte for byte, and never a byte that ends an MLLP frame", () => {
    const message = Buffer.from("MSH|^~\\&|A|B|C|D|||ADT^A01|a\\F\\\xe9|P|2.5\r", "latin1");
    const bytes = acknowledge(peekHeader(message).header, { code: "AA", controlId: "R1", at: "" });
    expect(Buffer.from(bytes).toString("latin1")).toContain("MSA|AA|a\\F\\\xe9\r");
    expect(answer("MSH|^~\\&|A|B|C|D|||ADT^A01|7\x1c")).toContain("MSA|AA|7?\r");
  });

  it("is a message that can be read, and read as what it is", () => {
    for (const text of Object.values(samples.samples)) {
      const bytes = Buffer.from(answer(text, { code: "AE", text: "because | of & this" }));
      expect(Hl7Message.read(bytes).kind).toBe("read");
      expect(readAcknowledgement(bytes)).toEqual({
        kind: "read",
        code: "AE",
        verdict: "error",
        level: "application",
        controlId: headerOf(text)?.controlId,
        text: "because | of & this",
      });
    }
  });
});

describe("Judging a reply", () => {
  const judge = (segments: string) => readAcknowledgement(Buffer.from(`MSH|^~\\&|A|B|C|D|||ACK|9|P|2.5\r${segments}`));

  it.each([
    ["AA", "accepted", "application"],
    ["CA", "accepted", "accept"],
    ["AE", "error", "application"],
    ["CE", "error", "accept"],
    ["AR", "rejected", "application"],
    ["CR", "rejected", "accept"],
    [" aa ", "accepted", "application"],
  ])("%s means %s by the %s level", (code, verdict, level) => {
    expect(judge(`MSA|${code}|MSG1|said\r`)).toMatchObject({
      kind: "read",
      verdict,
      level,
      controlId: "MSG1",
      text: "said",
    });
  });

  it("looks for the reason in ERR where MSA has none", () => {
    expect(judge("MSA|AE|1\rERR||PID^1|101^Missing^HL70357|E|||for the operator|for the user\r")).toMatchObject({
      text: "for the user",
    });
    expect(judge("MSA|AE|1\rERR||PID^1|101^Missing^HL70357|E|||for the operator\r")).toMatchObject({
      text: "for the operator",
    });
    expect(judge("MSA|AE|1\rERR||PID^1|101^Missing^HL70357|E\r")).toMatchObject({ text: "Missing" });
    expect(judge("MSA|AE|1\rERR|PID^1^3^101&Old form&HL70357\r")).toMatchObject({ text: "Old form" });
    expect(judge("MSA|AA|1\n")).toMatchObject({ text: "" });
  });

  it("does not mind a header whose own id is odd", () => {
    const reply = Buffer.from(`MSH|^~\\&|A|B|C|D|||ACK|${"9".repeat(300)}|P|2.5\nMSA|AA|1\n`);
    expect(readAcknowledgement(reply)).toMatchObject({ verdict: "accepted", controlId: "1" });
  });

  it.each([
    ["", "It is no acknowledgement. It is empty."],
    ["ACK", "It is no acknowledgement. It begins with other bytes than MSH."],
    ["MSH|^~\\&|A\rPID|1\r", "It is no acknowledgement: it has no MSA segment."],
    ["MSH|^~\\&|A\rMSA|OK|1\r", 'MSA-1 is "OK", which is none of AA, CA, AE, CE, AR, CR.'],
    ["MSH|^~\\&|A\rMSA\r", "MSA-1 is none of AA, CA, AE, CE, AR, CR."],
    ["MSH|^~\\&|A\rMSA|toString\r", "MSA-1 is none of AA, CA, AE, CE, AR, CR."],
  ])("is not possible for %j", (text, reason) => {
    expect(readAcknowledgement(Buffer.from(text))).toEqual({ kind: "malformed", reason });
  });
});

describe("Which acknowledgements are wanted", () => {
  const asking = (accept: string, application: string) =>
    headerOf(`MSH|^~\\&|A|B|C|D|||ADT^A01|1|P|2.5|||${accept}|${application}\r`);

  it("is the application's alone in original mode", () => {
    for (const header of [asking("", ""), null]) {
      expect(ackMode(header)).toBe("original");
      expect([isAckWanted(header, "accept", true), isAckWanted(header, "accept", false)]).toEqual([false, false]);
      expect([isAckWanted(header, "application", true), isAckWanted(header, "application", false)]).toEqual([
        true,
        true,
      ]);
    }
  });

  it.each([
    ["AL", true, true],
    ["NE", false, false],
    ["ER", false, true],
    ["SU", true, false],
    ["", false, false],
    ["??", true, true],
  ])("is as the message says in enhanced mode: %j", (condition, whenGood, whenBad) => {
    const accepting = asking(condition, "AL");
    expect(ackMode(accepting)).toBe("enhanced");
    expect([isAckWanted(accepting, "accept", true), isAckWanted(accepting, "accept", false)]).toEqual([
      whenGood,
      whenBad,
    ]);
    const applying = asking("AL", condition);
    expect([isAckWanted(applying, "application", true), isAckWanted(applying, "application", false)]).toEqual([
      whenGood,
      whenBad,
    ]);
  });
});

it("an answer that is little but line ends is no acknowledgement, and is not taken apart to find that out", () => {
  const head = "MSH|^~\\&|A|B|C|D|1||ACK|1|P|2.5\r";
  const late = readAcknowledgement(Buffer.from(`${head}${"\r".repeat(1_000)}MSA|AA|7\r`));
  expect(late).toEqual({ kind: "malformed", reason: "It is no acknowledgement: it has no MSA segment." });
});
