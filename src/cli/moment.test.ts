import { describe, expect, it, vi } from "vitest";
import { asMoment } from "./moment.js";

describe("a moment on the command line", () => {
  it("may be said by how long ago it was", () => {
    vi.useFakeTimers({ now: Date.parse("2026-11-15T12:00:00Z") });
    try {
      expect(asMoment("2h")).toBe("2026-11-15T10:00:00.000Z");
      expect(asMoment("1d")).toBe("2026-11-14T12:00:00.000Z");
    } finally {
      vi.useRealTimers();
    }
  });

  it.each(["2026-11-14", "1794762070.5", "2026-11-14T02:00:00+01:00"])(
    "is left as it is written otherwise: %s",
    (written) => {
      expect(asMoment(written)).toBe(written);
    },
  );

  it.each(["yesterday", "two hours", "2h ago"])(
    "is refused before anybody is asked where it is none: %j",
    (written) => {
      expect(() => asMoment(written)).toThrow('It must be like "2h" (ago)');
    },
  );
});
