import { setImmediate as turn } from "node:timers/promises";

const sliceLength = 1_000;

/** Does something with each of many, a slice at a time: between two slices leases are renewed and messages go on. */
export async function inSlices<Item>(items: readonly Item[], work: (item: Item, index: number) => void): Promise<void> {
  for (let from = 0; from < items.length; from += sliceLength) {
    if (from > 0) await turn();
    for (const [at, item] of items.slice(from, from + sliceLength).entries()) work(item, from + at);
  }
}
