import { describe, expect, it } from "vitest";
import { peekHeader } from "../../core/hl7/header.js";
import type { Receipt } from "../transport.js";
import { type AckPolicy, planAcks } from "./ack-plan.js";

const kept: Receipt = { kind: "accepted", id: "1", duplicate: false, malformed: null, ack: null };
const malformed: Receipt = { ...kept, malformed: "no MSH-9" };
const away: Receipt = { kind: "refused", reason: "the database is away", retry: true };
const never: Receipt = { kind: "refused", reason: "too large", retry: false };
const auto: AckPolicy = { mode: "auto", malformed: "AR" };

function planned(
  wishes: readonly [accept: string, application: string] | null,
  receipt: Receipt,
  policy = auto,
): string {
  const [accept, application] = wishes ?? ["", ""];
  const text = `MSH|^~\\&|A|B|C|D|20260131||ADT^A01|7|P|2.5|||${accept}|${application}\r`;
  const header = wishes === null ? null : peekHeader(Buffer.from(text)).header;
  return planAcks(header, receipt, policy)
    .map(({ code, text: said }) => (said === null ? code : `${code} ${said}`))
    .join(", ");
}

describe("the acknowledgements of a message", () => {
  it("in original mode are one", () => {
    expect(planned(["", ""], kept)).toBe("AA");
    expect(planned(["", ""], away)).toBe("AE the database is away");
    expect(planned(["", ""], never)).toBe("AR too large");
    expect(planned(["", ""], malformed)).toBe("AR no MSH-9");
    expect(planned(["", ""], malformed, { mode: "auto", malformed: "AE" })).toBe("AE no MSH-9");
    expect(planned(null, malformed)).toBe("AR no MSH-9");
  });

  it.each([
    ["AL", "NE", "CA", "CE", "CR"],
    ["AL", "AL", "CA, AA", "CE", "CR"],
    ["AL", "", "CA", "CE", "CR"],
    ["NE", "AL", "AA", "AE", "AR"],
    ["", "AL", "AA", "AE", "AR"],
    ["ER", "AL", "AA", "CE", "CR"],
    ["SU", "AL", "CA, AA", "AE", "AR"],
    ["AL", "ER", "CA", "CE", "CR"],
    ["SU", "SU", "CA, AA", "", ""],
    ["ER", "ER", "", "CE", "CR"],
    ["NE", "NE", "", "", ""],
    ["??", "NE", "CA", "CE", "CR"],
  ])(
    "in enhanced mode are those that MSH-15 %s and MSH-16 %s ask for",
    (accept, application, good, error, rejected) => {
      const codes = (receipt: Receipt): string =>
        planned([accept, application], receipt)
          .split(", ")
          .map((ack) => ack.slice(0, 2))
          .join(", ");
      expect([codes(kept), codes(away), codes(never)]).toEqual([good, error, rejected]);
    },
  );

  it("are of the mode that is set, whatever the message asks for", () => {
    expect(planned(["AL", "AL"], kept, { mode: "original", malformed: "AR" })).toBe("AA");
    expect(planned(["", ""], kept, { mode: "enhanced", malformed: "AR" })).toBe("CA");
    expect(planned(null, malformed, { mode: "enhanced", malformed: "AE" })).toBe("CE no MSH-9");
    expect(planned(["AL", "AL"], kept, { mode: "enhanced", malformed: "AR" })).toBe("CA, AA");
  });
});
