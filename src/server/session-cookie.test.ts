import { describe, expect, it } from "vitest";
import { cookieOf, noCookie, secretInCookie } from "./session-cookie.js";

describe("the cookie of a session", () => {
  it("is for this host alone, out of reach of scripts and of other sites", () => {
    expect(cookieOf("hf_x", { maxAgeMs: 60_500, isSecure: true })).toBe(
      "holdfast_session=hf_x; Path=/; HttpOnly; SameSite=Strict; Max-Age=60; Secure",
    );
    expect(cookieOf("hf_x", { maxAgeMs: 60_500, isSecure: false })).not.toContain("Secure");
    expect(noCookie).toMatch(/^holdfast_session=; .*Max-Age=0$/);
  });

  it.each([
    ["holdfast_session=hf_x", "hf_x"],
    ["theme=dark; holdfast_session=hf_x; lang=en", "hf_x"],
    ["holdfast_session=hf_x; holdfast_session=hf_x", "hf_x"],
    ["holdfast_session=hf_x; holdfast_session=hf_planted", null],
    ["other_holdfast_session=hf_x", null],
    ["holdfast_session=", null],
    ["holdfast_session=hf x", null],
    [`holdfast_session=${"x".repeat(513)}`, null],
    ["", null],
    [undefined, null],
  ])("is read from %j as %j", (header, secret) => {
    expect(secretInCookie(header)).toBe(secret);
  });
});
