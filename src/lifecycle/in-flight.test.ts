import { describe, expect, it } from "vitest";
import { DrainingError } from "../errors.js";
import { InFlightWork } from "./in-flight.js";

describe("work in flight", () => {
  it("is counted from entering to its end, which counts once", () => {
    const work = new InFlightWork();
    const guard = work.enter();
    const other = work.enter();
    expect(work.count).toBe(2);
    guard[Symbol.dispose]();
    guard[Symbol.dispose]();
    expect(work.count).toBe(1);
    other[Symbol.dispose]();
    expect(work.count).toBe(0);
  });

  it("is refused once a drain has begun, and what runs is waited for", async () => {
    const work = new InFlightWork();
    const guard = work.enter();
    work.refuse();
    expect(work.accepting).toBe(false);
    expect(() => work.enter()).toThrow(DrainingError);
    await expect(work.run(() => Promise.resolve())).rejects.toThrow(DrainingError);
    let idle = false;
    const waiting = work.idle().then(() => {
      idle = true;
    });
    await Promise.resolve();
    expect(idle).toBe(false);
    guard[Symbol.dispose]();
    await waiting;
    expect(idle).toBe(true);
  });

  it("is waited for no more once work is admitted again", async () => {
    const work = new InFlightWork();
    using _guard = work.enter();
    work.refuse();
    const waiting = work.idle();
    work.admit();
    await waiting;
    using _other = work.enter();
    expect(work.count).toBe(2);
  });

  it("ends with an error, too", async () => {
    const work = new InFlightWork();
    await expect(work.run(() => Promise.reject(new Error("mine")))).rejects.toThrow("mine");
    expect(work.count).toBe(0);
  });
});
