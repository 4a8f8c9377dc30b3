import type { Checker, Violation } from "../checker.js";
import type { DeliveryEvent, HistoryEvent } from "../history.js";
import { groupBy } from "./groups.js";
import { firstInversion, type Sending } from "./inversions.js";
import { isWithin, lostPeriodsOf, meets, type Period } from "./periods.js";

const name = "order";

/** G5: the order of first deliveries, in every lane of every stage. */
export const order: Checker = {
  name,
  promise:
    "In each lane messages are delivered for the first time in the order of their commits, and none is left out (G5).",
  check(history) {
    const lost = lostPeriodsOf(history);
    const sendings = sendingsOf(history, lost);
    const deliveries = history.filter((event) => event.kind === "delivery");
    return [...groupBy(deliveries, ({ stage, lane }) => `${stage} ${lane}`).values()].flatMap((unsorted) => {
      const own = unsorted.toSorted((one, other) => one.at - other.at);
      return [...inverted(own, sendings), ...leftOut(own, lost)];
    });
  },
};

/** By message: from when on, and until when, it was taken in. Which of many in one call came first is the order of the call. */
function sendingsOf(history: readonly HistoryEvent[], lost: readonly Period[]): ReadonlyMap<string, Sending> {
  const sendings = new Map<string, Sending>();
  for (const event of history) {
    if (event.kind !== "enqueue" || event.outcome === "refused") continue;
    const isKnown = event.outcome === "done" && !meets(lost, event);
    for (const number of event.numbers) {
      const key = `${event.lane} ${number}`;
      const before = sendings.get(key);
      const committedBy = isKnown ? event.to : Number.POSITIVE_INFINITY;
      sendings.set(key, {
        name: key,
        from: Math.min(event.from, before?.from ?? Number.POSITIVE_INFINITY),
        to: Math.min(committedBy, before?.to ?? Number.POSITIVE_INFINITY),
      });
    }
  }
  return sendings;
}

function inverted(deliveries: readonly DeliveryEvent[], sendings: ReadonlyMap<string, Sending>): readonly Violation[] {
  const seen = new Set<number>();
  const firsts = deliveries.filter(({ number }) => !seen.has(number) && seen.add(number));
  const found = firstInversion(
    firsts.flatMap(({ lane, number, at }) => {
      const sending = sendings.get(`${lane} ${number}`);
      return sending === undefined ? [] : [{ sending, at }];
    }),
  );
  if (found === null) return [];
  const stage = deliveries[0]?.stage ?? "";
  return [{ checker: name, at: found.at, text: `${stage}: ${found.text}` }];
}

/**
 * Positions are the order of commits, without a gap. So whoever leads goes on at the first that is not settled, or at one that was
 * delivered before, and then one by one.
 */
function leftOut(deliveries: readonly DeliveryEvent[], lost: readonly Period[]): readonly Violation[] {
  const found: Violation[] = [];
  const reached = new Map<string, number>();
  let highest: number | null = null;
  let lastAt = Number.NEGATIVE_INFINITY;
  for (const { stage, lane, number, position, epoch, at } of deliveries) {
    // What was given a place and delivered by a database that is gone says nothing about places in the one that took over.
    if (meets(lost, { from: lastAt, to: at })) {
      highest = null;
      reached.clear();
    }
    lastAt = at;
    if (isWithin(lost, at)) continue;
    const say = (after: number) => {
      const text = `${stage}: ${lane} ${number} at position ${position} came right after ${after}, under epoch ${epoch}`;
      found.push({ checker: name, at, text });
    };
    const own = reached.get(epoch);
    if (highest !== null && position > highest + 1) say(highest);
    else if (own !== undefined && position > own + 1) say(own);
    highest = Math.max(highest ?? 0, position);
    reached.set(epoch, position);
  }
  return found;
}
