import { expect, it } from "vitest";
import { LoadMeter } from "./load-meter.js";

it("usages are shares between 0 and 1, and a busy processor shows", () => {
  const meter = new LoadMeter();
  const until = performance.now() + 60;
  while (performance.now() < until) Math.sqrt(until);
  const busy = meter.cpuUsage();
  expect(busy).toBeGreaterThan(0);
  expect(busy).toBeLessThanOrEqual(1);
  expect(meter.memoryUsage()).toBeGreaterThan(0);
  expect(meter.memoryUsage()).toBeLessThan(1);
});
