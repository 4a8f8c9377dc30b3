import { randomInt } from "node:crypto";
import { isPortTaken } from "../../src/store/embedded/port.js";

// Below those that embedded servers choose, and a stretch for each worker: a port that a test was given and has not opened yet is
// nobody else's meanwhile. Within its stretch a process goes forward, so it gives none twice before it has given all.
const lowest = 10_000;
const stretches = 16;
const stretch = 600;
const own = lowest + (Number(process.env.VITEST_POOL_ID ?? 0) % stretches) * stretch;
let next = randomInt(stretch);

/** A port that is free now, for whoever has to name one before it listens. */
export async function freePort(): Promise<number> {
  return await freePorts(1);
}

/** The first of so many in a row. */
export async function freePorts(count: number): Promise<number> {
  for (let attempt = 0; attempt < stretch; attempt++) {
    const first = own + (next + count > stretch ? 0 : next);
    next = first - own + count;
    const taken = await Promise.all(Array.from({ length: count }, (_, index) => isPortTaken(first + index)));
    if (!taken.includes(true)) return first;
  }
  throw new Error(`No ${count} free ports in a row between ${own} and ${own + stretch - 1}.`);
}
