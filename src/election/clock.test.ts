import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { systemClock } from "./clock.js";

const day = 86_400_000;

describe("the system's clock", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("wakes at its time, also where that is further away than a timer reaches", async () => {
    const woken: string[] = [];
    systemClock.wakeAt(systemClock.mono() + 1_000, () => woken.push("soon"));
    systemClock.wakeAt(systemClock.mono() + 60 * day, () => woken.push("in sixty days"));
    await vi.advanceTimersByTimeAsync(999);
    expect(woken).toEqual([]);
    await vi.advanceTimersByTimeAsync(2);
    expect(woken).toEqual(["soon"]);
    await vi.advanceTimersByTimeAsync(59 * day);
    expect(woken).toEqual(["soon"]);
    await vi.advanceTimersByTimeAsync(day);
    expect(woken).toEqual(["soon", "in sixty days"]);
  });

  it("takes back what is far away as what is near", async () => {
    const woken: string[] = [];
    const takeBack = systemClock.wakeAt(systemClock.mono() + 60 * day, () => woken.push("never"));
    await vi.advanceTimersByTimeAsync(30 * day);
    takeBack();
    await vi.advanceTimersByTimeAsync(60 * day);
    expect(woken).toEqual([]);
  });
});
