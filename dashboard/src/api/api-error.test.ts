import { describe, expect, it } from "vitest";
import { asApiError, errorFrom } from "./api-error.js";
import { withQuery } from "./client.js";

describe("an error", () => {
  it("is told in the API's own words where it has some", () => {
    const error = errorFrom(409, { error: "REFUSED", message: "The lane is not blocked.", details: { lane: "a" } });
    expect(error).toMatchObject({
      status: 409,
      code: "REFUSED",
      message: "The lane is not blocked.",
      details: { lane: "a" },
    });
  });

  it("of leadership says who leads", () => {
    expect(errorFrom(409, { error: "NOT_LEADER", leader_id: "b" }).message).toContain("b leads");
    expect(errorFrom(409, { error: "NOT_LEADER", leader_id: null }).message).toContain("nobody leads");
  });

  it("is one whatever came back", () => {
    for (const body of [undefined, null, "<html>", 7, []]) expect(errorFrom(502, body).code).toBe("HTTP_502");
    expect(asApiError(new TypeError("x is not a function")).message).toBe("x is not a function");
    expect(asApiError("no").message).toBe("no");
  });
});

it("a filter without a value is left out of the request", () => {
  expect(withQuery("/messages", { status: "", text: undefined, cursor: null })).toBe("/messages");
  expect(withQuery("/messages", { status: "a&b", limit: 5, flag: false })).toBe(
    "/messages?status=a%26b&limit=5&flag=false",
  );
});
