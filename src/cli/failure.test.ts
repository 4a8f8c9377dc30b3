import { describe, expect, it } from "vitest";
import { HoldfastError } from "../errors.js";
import { failureOf } from "./failure.js";

describe("a database that does not let the user in", () => {
  it("leads to where the password is set, in one line", () => {
    const cause = Object.assign(new Error('password authentication failed for user "u"'), { code: "28P01" });
    const error = new HoldfastError("DATABASE_REFUSED", `The database refused while joining: ${cause.message}.`, {
      cause,
    });
    expect(failureOf(error, false)).toEqual({
      exitCode: 4,
      lines: [
        'holdfast: The database refused while joining: password authentication failed for user "u". ' +
          "Check the user and the password (HOLDFAST_STORE_PASSWORD, or the one in the URL). [DATABASE_REFUSED]",
      ],
    });
  });

  it("says so where there is no password at all, however deep the driver's complaint lies", () => {
    const deepest = new Error("SASL: SCRAM-SERVER-FIRST-MESSAGE: client password must be a string");
    const cause = new HoldfastError("DATABASE_AWAY", "The connection was lost.", { cause: deepest });
    const { lines } = failureOf(new HoldfastError("DATABASE_AWAY", "It did not start.", { cause }), false);
    expect(lines).toEqual([
      "holdfast: The database asks for a password, and there is none. " +
        "Check the user and the password (HOLDFAST_STORE_PASSWORD, or the one in the URL). [DATABASE_AWAY]",
    ]);
  });

  it("is told apart from any other refusal", () => {
    const cause = Object.assign(new Error("permission denied"), { code: "42501" });
    const { lines } = failureOf(new HoldfastError("DATABASE_REFUSED", "No.", { cause }), false);
    expect(lines).toEqual(["holdfast: No. [DATABASE_REFUSED]"]);
  });
});

describe("a setting that is wrong in one place", () => {
  const failed = (problem: string): readonly string[] =>
    failureOf(
      new HoldfastError("BAD_SETTINGS", problem, { details: { problems: [problem, "And so is this."] } }),
      false,
    ).lines;

  it("is shown with the place marked below it", () => {
    expect(failed("alerts[0].condition is refused: it ends too early.\nsum(up\n      ^")).toEqual([
      "holdfast: alerts[0].condition is refused: it ends too early. [BAD_SETTINGS]",
      "  sum(up",
      "        ^",
      "holdfast: And so is this. [BAD_SETTINGS]",
    ]);
  });

  it("is shown without it where the text would steer a terminal", () => {
    expect(failed("It is refused.\nsum(\u001b[31mup\n  ^")[0]).toBe("holdfast: It is refused. [BAD_SETTINGS]");
    expect(failed("It is refused.\nsum(\u001b[31mup\n  ^")).toHaveLength(2);
    expect(failed("one\ntwo")[0]).toBe("holdfast: one two [BAD_SETTINGS]");
  });
});
