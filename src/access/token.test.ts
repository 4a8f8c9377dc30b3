import { describe, expect, it } from "vitest";
import { checkTokenWish, hashToken, longestLifetimeMs, mintToken } from "./token.js";

describe("a token's secret", () => {
  it("has 256 random bits, and is never the same twice", () => {
    const [one, other] = [mintToken(), mintToken()];
    expect(one).toMatch(/^hf_[\w-]{43}$/);
    expect(one).not.toBe(other);
    expect(hashToken(one)).toMatch(/^[0-9a-f]{64}$/);
  });
});

describe("the wish for a token", () => {
  it.each([
    { name: "ci", lifetimeMs: null },
    { name: "B\u00fcro \u6771\u4eac", lifetimeMs: 1_000 },
    { name: "\u{1f511}".repeat(100), lifetimeMs: longestLifetimeMs },
    { name: "anyone else", lifetimeMs: null },
  ])("may be $name for $lifetimeMs", (wish) => {
    expect(() => checkTokenWish(wish)).not.toThrow();
  });

  it.each(["", " ", " padded", "padded ", "line\nbreak", "x".repeat(101), "anyone", "zero\u200bwidth"])(
    "may not be called %j",
    (name) => {
      expect(() => checkTokenWish({ name, lifetimeMs: null })).toThrow(
        expect.objectContaining({
          code: "INVALID_REQUEST",
          message: expect.stringMatching(/^The token's name must be .*\.$/),
          details: { problems: [{ field: "name", problem: expect.any(String) }] },
        }),
      );
    },
  );

  it.each([0, 999, -1, Number.NaN, longestLifetimeMs + 1, Number.POSITIVE_INFINITY])(
    "may not live %d ms",
    (lifetimeMs) => {
      expect(() => checkTokenWish({ name: "ci", lifetimeMs })).toThrow("must be from 1 s to ten years");
    },
  );
});
