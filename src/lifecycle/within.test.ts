import { describe, expect, it } from "vitest";
import { within } from "./within.js";

const never = new Promise<never>(() => undefined);
const tooLate = (): never => {
  throw new Error("too late");
};

describe("within", () => {
  it("is the work's own answer, or failure, where that comes in time", async () => {
    expect(await within(10_000, Promise.resolve("done"), tooLate)).toBe("done");
    await expect(within(10_000, Promise.reject(new Error("failed")), tooLate)).rejects.toThrow("failed");
  });

  it("is what was said for the case that it comes too late", async () => {
    expect(await within(1, never, () => "late")).toBe("late");
    await expect(within(1, never, tooLate)).rejects.toThrow("too late");
    expect(await within(1, never)).toBeUndefined();
  });

  it("does not call for what is late when it was in time, and holds nobody up afterwards", async () => {
    let calls = 0;
    await within(1, Promise.resolve("done"), () => {
      calls += 1;
    });
    await within(5, never);
    expect(calls).toBe(0);
  });

  it("hears nothing of work that fails when nobody waits any more", async () => {
    let fail: (error: Error) => void = () => undefined;
    const failing = new Promise<never>((_resolve, reject) => {
      fail = reject;
    });
    expect(await within(1, failing, () => "late")).toBe("late");
    fail(new Error("nobody hears this"));
    // An unhandled rejection would fail the run.
    await new Promise((resolve) => setImmediate(resolve));
  });
});
