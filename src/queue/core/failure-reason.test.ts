import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { failureReason } from "./failure-reason.js";

const body = '{"patient":"Ada Lovelace"}';
const thrownBy = (work: () => unknown): unknown => {
  try {
    return work();
  } catch (error) {
    return error;
  }
};

describe("the reason of a failure", () => {
  it("is the error's message, with its name where that says something", () => {
    expect(failureReason(new Error("no route"), body)).toBe("no route");
    expect(failureReason(new TypeError("x is not a function"), body)).toBe("TypeError: x is not a function");
    expect(failureReason("no route", body)).toBe("no route");
  });

  it("is the code or the name of an error without a message", () => {
    expect(failureReason(Object.assign(new AggregateError([]), { code: "ECONNREFUSED" }), body)).toBe("ECONNREFUSED");
    expect(failureReason(new RangeError(), body)).toBe("RangeError");
  });

  it.each([
    [undefined, "the handler threw a value of type undefined instead of an error"],
    [null, "the handler threw null instead of an error"],
    [{ body }, "the handler threw a value of type object instead of an error"],
  ])("says of %s that it is no error, and does not show it", (thrown, reason) => {
    expect(failureReason(thrown, body)).toBe(reason);
  });

  it("is never empty", () => {
    expect(failureReason("", body)).toBe("the handler failed and did not say why");
    expect(failureReason("\u0000", body)).toBe("the handler failed and did not say why");
  });

  it("says so when the error cannot even be read", () => {
    const hostile = Object.defineProperty(new Error("x"), "message", {
      get: () => {
        throw new Error("no");
      },
    });
    expect(failureReason(hostile, body)).toBe("the handler threw something that cannot be read");
  });

  it("leaves the body out", () => {
    expect(failureReason(new Error(`cannot route ${body} to b`), body)).toBe("cannot route [body] to b");
    const large = "x".repeat(1_000_000);
    expect(failureReason(new Error(`cannot route ${large} to b`), large)).toBe("cannot route [body] to b");
  });

  it.each([
    "Ada Lovelace, born 1815",
    `[1, 2, "${"Ada Lovelace ".repeat(20)}", oops]`,
    "Ada\nLovelace",
    '"Ada" Lovelace',
  ])("leaves out what JSON.parse quotes of %j", (text) => {
    const reason = failureReason(
      thrownBy(() => JSON.parse(text)),
      text,
    );
    expect(reason).toContain("JSON");
    expect(reason).not.toMatch(/Ada|Lovelace|1815/);
  });

  it("is one line of at most 500 characters that a database takes, whatever was thrown", () => {
    expect(failureReason(new Error("a\u0000b\r\n\tc\u2028d"), body)).toBe("a b c d");
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: "binary", maxLength: 3_000 }), fc.anything()), (thrown) => {
        for (const reason of [failureReason(thrown, body), failureReason(new Error(String(typeof thrown)), body)]) {
          expect(reason.length).toBeLessThanOrEqual(500);
          expect(reason).not.toBe("");
          expect(reason).not.toMatch(/[\p{Cc}\u2028\u2029]/u);
        }
      }),
    );
    expect(failureReason(new Error("y".repeat(600)), body)).toHaveLength(500);
  });
});
