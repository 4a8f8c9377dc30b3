import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { unlessCalledOff } from "./called-off.js";

const never = new Promise<never>(() => undefined);

describe("a delivery that may be called off", () => {
  it("tells what became of it, and leaves nobody behind who listens to the signal", async () => {
    const { signal } = new AbortController();
    const delivered = { kind: "delivered", receipt: null } as never;
    expect(await unlessCalledOff(signal, async () => await Promise.resolve(delivered))).toBe(delivered);
    const failed = unlessCalledOff(signal, async () => await Promise.reject(new Error("no")));
    await expect(failed).rejects.toThrow("no");
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  it.each([
    [false, "unreached"],
    [true, "unconfirmed"],
  ])("is told by how far it had come (may be there: %s)", async (mayBeThere, kind) => {
    const calling = new AbortController();
    const outcome = unlessCalledOff(calling.signal, (progress) => {
      progress.mayBeThere = mayBeThere;
      return never;
    });
    calling.abort();
    expect(await outcome).toEqual({ kind, reason: "it was called off" });
  });

  it("was called off before it began", async () => {
    expect(await unlessCalledOff(AbortSignal.abort(), () => never)).toMatchObject({ kind: "unreached" });
  });
});
