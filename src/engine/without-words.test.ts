import { expect, it } from "vitest";
import { withoutWordsOf } from "./without-words.js";

const body = Buffer.from(
  "MSH|^~\\&|HIS|W|HF|HUB|20260131||ADT^A01|1|P|2.5\rPID|1||4711^^^MRN||Müller^Anna Maria\rOBX|1|ST\r",
);

it.each([
  ['no ward for "Müller" (4711)', 'no ward for "[...]" ([...])'],
  ["unknown patient MÜLLER, anna", "unknown patient [...], [...]"],
  ["PID-3 is missing in ADT^A01 of HIS", "PID-3 is missing in ADT^A01 of HIS"],
  ["Cannot read properties of undefined (reading 'get')", "Cannot read properties of undefined (reading 'get')"],
  ["It was answered with AE", "It was answered with AE"],
])("%j is told as %j", (reason, told) => {
  expect(withoutWordsOf(body, reason)).toBe(told);
});

it("of what is no HL7 nothing is hidden: its words may be the names of its fields", () => {
  const json = Buffer.from('{"name":"Anna","ward":"North wing of the house"}');
  expect(withoutWordsOf(json, "the field name is missing")).toBe("the field name is missing");
});
