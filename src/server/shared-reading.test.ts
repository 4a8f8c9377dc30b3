import { expect, it } from "vitest";
import { sharedReading } from "./shared-reading.js";

it("is asked for once by all who come while it is under way, and so long after", async () => {
  let asked = 0;
  let answer: (value: number) => void = () => undefined;
  const read = sharedReading(60_000, async () => {
    asked += 1;
    return await new Promise<number>((resolve) => {
      answer = resolve;
    });
  });
  const both = Promise.all([read(), read()]);
  answer(7);
  expect(await both).toEqual([7, 7]);
  expect(await read()).toBe(7);
  expect(asked).toBe(1);
});

it("is asked for again when it is old", async () => {
  let asked = 0;
  const read = sharedReading(0, async () => {
    asked += 1;
    return await Promise.resolve(asked);
  });
  expect([await read(), await read()]).toEqual([1, 2]);
});
