import { describe, expect, test } from "vitest";
import { hl7SegmentsOf, mostSegments } from "./hl7-fields.js";

describe("the fields of an HL7 message", () => {
  test("are numbered as people number them: the separator is MSH-1", () => {
    const [msh] = hl7SegmentsOf("MSH|^~\\&|ADT|HOSPITAL||LAB|20260101||ADT^A01|42|P|2.5\r") ?? [];
    expect(msh?.fields.map(({ name, values }) => [name, ...values])).toEqual([
      ["MSH-1", "|"],
      ["MSH-2", "^~\\&"],
      ["MSH-3", "ADT"],
      ["MSH-4", "HOSPITAL"],
      ["MSH-6", "LAB"],
      ["MSH-7", "20260101"],
      ["MSH-9", "ADT^A01"],
      ["MSH-10", "42"],
      ["MSH-11", "P"],
      ["MSH-12", "2.5"],
    ]);
  });

  test("are parted at their repetitions, by the delimiters that the message names", () => {
    const [, pid] = hl7SegmentsOf("MSH#^!\\&#A\rPID###1!2") ?? [];
    expect(pid).toEqual({ name: "PID", fields: [{ name: "PID-3", values: ["1", "2"] }] });
  });

  test("are none of a text that is something else", () => {
    for (const text of ["", "{}", "MSHA", "MSH and more", "PID|1"]) expect(hl7SegmentsOf(text)).toBeNull();
  });

  test("are bounded", () => {
    expect(hl7SegmentsOf(`MSH|^~\\&\r${"OBX|1\r".repeat(5_000)}`)).toHaveLength(mostSegments);
  });
});
