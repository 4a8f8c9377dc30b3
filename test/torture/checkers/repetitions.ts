import type { Checker, Violation } from "../checker.js";
import type { DeliveryEvent, HistoryEvent } from "../history.js";
import { groupBy } from "./groups.js";
import {
  type FaultPeriod,
  isWithin,
  lostPeriodsOf,
  mayDelay,
  meets,
  type Period,
  placeOf,
  placesOf,
  stallsOf,
} from "./periods.js";

const name = "repetitions";

/** G5: what comes again, who may still begin, and what a crash costs. */
export const repetitions: Checker = {
  name,
  promise:
    "One failover repeats at most a batch of each lane, and nothing that was settled; a crash costs no attempt; a deposed leader begins nothing (G5, G3).",
  check(history) {
    const deliveries = history.filter((event) => event.kind === "delivery");
    const batch = history.find((event) => event.kind === "run")?.batch ?? 1;
    const bounds: Bounds = { batch, lost: lostPeriodsOf(history), lostTrack: lostTrackOf(history) };
    const late = lateBeginnings(deliveries, stallsOf(history));
    const inTime = deliveries.filter((delivery) => !late.caught.has(delivery));
    const lanes = groupBy(inTime, ({ stage, lane }) => `${stage} ${lane}`);
    return [...[...lanes.values()].flatMap((own) => laneViolations(own, bounds)), ...late.violations];
  },
};

interface Bounds {
  readonly batch: number;
  readonly lost: readonly Period[];
  /** Epochs whose leader stayed, and said that it no longer knew what was claimed or finished. */
  readonly lostTrack: ReadonlySet<string>;
}

function lostTrackOf(history: readonly HistoryEvent[]): ReadonlySet<string> {
  return new Set(history.flatMap((event) => (event.kind === "lost_track" ? [event.epoch] : [])));
}

/**
 * The gate is asked just before a handler is called, and there is one thread: a stall can come between the two once. Any other delivery
 * that begins after a later epoch has delivered was let through by a gate that should be shut.
 */
function lateBeginnings(deliveries: readonly DeliveryEvent[], stalls: readonly FaultPeriod[]) {
  const caught = new Set<DeliveryEvent>();
  const used = new Set<FaultPeriod>();
  const violations: Violation[] = [];
  let latest = 0n;
  for (const delivery of deliveries.toSorted((one, other) => one.at - other.at)) {
    const epoch = BigInt(delivery.epoch);
    if (epoch >= latest) {
      latest = epoch;
      continue;
    }
    const stall = stalls.find(
      (one) => !used.has(one) && mayDelay(one, delivery.at) && placesOf(one.on).includes(placeOf(delivery.by)),
    );
    if (stall === undefined) {
      violations.push({
        checker: name,
        at: delivery.at,
        text: `${told(delivery)} began after epoch ${latest} had delivered`,
      });
    } else used.add(stall);
    caught.add(delivery);
  }
  return { caught, violations };
}

/** Walks through one lane of one stage, in the order of time. */
function laneViolations(unsorted: readonly DeliveryEvent[], bounds: Bounds): readonly Violation[] {
  const found: Violation[] = [];
  const seen = new Map<number, DeliveryEvent[]>();
  const repeatedBy = new Map<string, Set<number>>();
  let highest = 0;
  for (const delivery of unsorted.toSorted((one, other) => one.at - other.at)) {
    const say = (why: string) => found.push({ checker: name, at: delivery.at, text: `${told(delivery)} ${why}` });
    // What a database delivered that is gone may come again, from another place, and spends what it spends.
    const all = seen.get(delivery.number) ?? [];
    const earlier = all.filter(({ at }) => !isWithin(bounds.lost, at));
    seen.set(delivery.number, [...all, delivery]);
    // A failure of that time may be known to the database that took over, where it was that one's already.
    const failures = all.filter(({ failed }) => failed === true).length;
    const wasLost = meets(bounds.lost, { from: earlier.at(-1)?.at ?? delivery.at, to: delivery.at });
    if (delivery.attempt > failures + 1 && !wasLost) say("spent an attempt without a failure");
    if (isWithin(bounds.lost, delivery.at) || wasLost) {
      highest = 0;
      continue;
    }
    if (earlier.some(({ position }) => position !== delivery.position)) say("is in two places");
    if (isRepeated(delivery, earlier)) {
      if (delivery.position <= highest - bounds.batch) say(`came again when position ${highest} had been reached`);
      const own = earlier.some(({ epoch }) => epoch === delivery.epoch);
      if (own && !bounds.lostTrack.has(delivery.epoch)) say("came again by the same leader, and had not failed");
      const repeated = repeatedBy.get(delivery.epoch) ?? new Set();
      if (!own) repeatedBy.set(delivery.epoch, repeated.add(delivery.number));
      if (!own && repeated.size === bounds.batch + 1) say(`is one more than the ${bounds.batch} that may come again`);
    }
    highest = Math.max(highest, delivery.position);
  }
  return found;
}

/** One that had failed is not repeated but tried again, where its attempt says so. */
function isRepeated({ attempt }: DeliveryEvent, earlier: readonly DeliveryEvent[]): boolean {
  return earlier.some((one) => one.failed !== true || attempt <= one.attempt);
}

function told({ stage, lane, number, position, epoch, attempt, by }: DeliveryEvent): string {
  return `${stage}: ${lane} ${number} (position ${position}, epoch ${epoch}, attempt ${attempt}, ${by})`;
}
