import { expect, it } from "vitest";
import { HandClock } from "../../../../test/integration/mllp-scene.js";
import { Deadline } from "./deadline.js";

/** Time of which nothing is seen in between, as by a process that stood still. */
class StoppedClock extends HandClock {
  readonly wakings: (() => void)[] = [];

  override wakeAt(_at: number, fire: () => void): () => void {
    this.wakings.push(fire);
    return () => undefined;
  }
}

function scene() {
  const clock = new StoppedClock();
  let missed = 0;
  const deadline = new Deadline(clock, () => {
    missed += 1;
  });
  return { clock, deadline, missed: () => missed };
}

it("is missed when its time has passed and nothing came in a second look either", () => {
  const { clock, deadline, missed } = scene();
  deadline.set(1_000);
  clock.pass(1_000);
  clock.wakings.shift()?.();
  expect(missed()).toBe(0);
  clock.wakings.shift()?.();
  expect(missed()).toBe(1);
});

it("is kept where the process stood still and what it waited for had come meanwhile", () => {
  const { clock, deadline, missed } = scene();
  deadline.set(1_000);
  clock.pass(60_000);
  clock.wakings.shift()?.();
  deadline.set(1_000); // The bytes that lay there are read between the two looks.
  clock.wakings.shift()?.();
  clock.pass(500);
  clock.wakings.shift()?.();
  expect(missed()).toBe(0);
});

it("gives each of its times a second look of its own", () => {
  const { clock, deadline, missed } = scene();
  for (let round = 0; round < 3; round += 1) {
    deadline.set(1_000);
    clock.pass(1_000);
    clock.wakings.shift()?.();
    expect(missed()).toBe(round);
    clock.wakings.shift()?.();
    expect(missed()).toBe(round + 1);
  }
});
