import { expect, it } from "vitest";
import { systemClock } from "../election/clock.js";
import { QueueAge } from "./queue-age.js";

it("the age of a queue is read once in a while, and the last one holds where the database does not answer", async () => {
  let now = 0;
  let answer: () => Promise<number | null> = async () => await Promise.resolve(1_500);
  let asked = 0;
  const age = new QueueAge({ ...systemClock, mono: () => now }, async () => {
    asked += 1;
    return await answer();
  });
  expect(await age.seconds()).toBe(1.5);
  answer = async () => await Promise.resolve(9_000);
  expect(await age.seconds()).toBe(1.5);
  expect(asked).toBe(1);
  now += 5_000;
  expect(await age.seconds()).toBe(9);
  now += 5_000;
  answer = async () => await Promise.reject(new Error("away"));
  expect(await age.seconds()).toBe(9);
  now += 5_000;
  answer = async () => await Promise.resolve(null);
  expect(await age.seconds()).toBe(0);
});
