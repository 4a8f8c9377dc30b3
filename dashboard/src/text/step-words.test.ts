import { expect, test } from "vitest";
import { stepWords } from "./step-words.js";

test.each([
  ["processed", { to: ["lab", "pharmacy"] }, "to lab, pharmacy"],
  ["filtered", { to: [] }, "its handler sent nothing"],
  ["unrouted", null, "no handler wanted it"],
  ["sent", { attempt: 1, reply: "AA" }, "answered AA"],
  ["sent", { attempt: 3, reply: null }, "at attempt 3"],
  ["sent", { attempt: 2, arrived: "before" }, "at attempt 2, it had arrived before"],
  ["sent", { attempt: 1, unconfirmed: "the line broke" }, "not confirmed: the line broke"],
  ["sent", { attempt: 1, later: [1] }, "later [1]"],
  ["later", "anything", ""],
])("a step %s with %j says: %s", (kind, detail, said) => {
  expect(stepWords({ kind, detail })).toBe(said);
});
