import { expect, it } from "vitest";
import { blocksOf, Guide, patience } from "../support/guide.js";

const block = blocksOf("hl7");

/** Calls the handler that the guide shows with a message of an inpatient, and of an outpatient. */
const calls = `
import { Hl7Message } from "holdfast/engine";
const sentFor = (patientClass: string): string[] => {
  const segments = [
    "MSH|^~\\\\&|HIS|HOSPITAL|ENGINE|HOSPITAL|20261114120000||ADT^A01|4711|P|2.5",
    "PID|1||P1000~S2000||MILLER^ANNA",
    "PV1|1|" + patientClass + "|ICU^1^2",
    "ZPI|our own",
  ];
  const read = Hl7Message.read(Buffer.from(segments.join("\\r") + "\\r"));
  if (read.kind !== "read") throw new Error(read.kind);
  return toLab.handle({ hl7: () => read.message } as never, {} as never).map(({ body }) => Buffer.from(body).toString());
};
console.log(JSON.stringify([sentFor("I"), sentFor("O")]));
`;

it("the handler that it shows sends inpatients alone, with what it changes and nothing else", patience, async () => {
  await using guide = await Guide.open("hl7");
  const text = block("config/to-lab.ts").text + calls;
  const { stdout, stderr } = await guide.project.run({ name: "to-lab.ts", language: "ts", text, line: 1 });
  expect(stderr).toBe("");
  const [inpatient, outpatient] = JSON.parse(stdout) as readonly (readonly string[])[];
  expect(outpatient).toEqual([]);
  expect(inpatient).toEqual([
    [
      "MSH|^~\\&|HIS|HOSPITAL|LAB|HOSPITAL|20261114120000||ADT^A01|4711|P|2.5\r",
      "PID|1||P1000||MILLER^ANNA\r",
      "PV1|1|I|ICU^1^2\r",
    ].join(""),
  ]);
});
