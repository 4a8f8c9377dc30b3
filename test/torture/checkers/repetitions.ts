import type { Checker, Violation } from "../checker.js";
import type { DeliveryEvent, HistoryEvent } from "../history.js";
import { groupBy } from "./groups.js";
import {
  type FaultPeriod,
  faultPeriodsOf,
  isWithin,
  lostPeriodsOf,
  mayDelay,
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
    const faults = faultPeriodsOf(history);
    const bounds: Bounds = { batch, faults, lost: lostPeriodsOf(history), lostTrack: lostTrackOf(history) };
    const late = lateBeginnings(deliveries, history);
    const inTime = deliveries.filter((delivery) => !late.caught.has(delivery));
    const lanes = groupBy(inTime, ({ stage, lane }) => `${stage} ${lane}`);
    return [...[...lanes.values()].flatMap((own) => laneViolations(own, bounds)), ...late.violations];
  },
};

interface Bounds {
  readonly batch: number;
  readonly faults: readonly FaultPeriod[];
  readonly lost: readonly Period[];
  /** When the leader of an epoch stayed, and said that it no longer knew what was claimed or finished. */
  readonly lostTrack: ReadonlyMap<string, readonly number[]>;
}

/** What is only claimed or finished is committed asynchronously, and is on disk so long after it was answered, at the latest. */
const flushedWithinMs = 2_000;

/** A gate that a fault has shut for a moment ends the work of its term, which is then done again: so long after the fault, at the latest. */
const shutWithinMs = 2_000;

function lostTrackOf(history: readonly HistoryEvent[]): Bounds["lostTrack"] {
  const told = history.filter((event) => event.kind === "lost_track");
  return new Map([...groupBy(told, ({ epoch }) => epoch)].map(([epoch, own]) => [epoch, own.map(({ at }) => at)]));
}

/**
 * The gate is asked just before a handler is called, and there is one thread: a stall can come between the two once, and then this call
 * is the first that is heard of its process since another led. Any other delivery that begins after a later epoch has delivered was
 * let through by a gate that should be shut.
 */
function lateBeginnings(deliveries: readonly DeliveryEvent[], history: readonly HistoryEvent[]) {
  const stalls = stallsOf(history);
  const caught = new Set<DeliveryEvent>();
  const violations: Violation[] = [];
  const used = new Set<FaultPeriod>();
  const firsts: DeliveryEvent[] = [];
  for (const delivery of deliveries.toSorted((one, other) => one.at - other.at)) {
    const latest = firsts.at(-1);
    if (latest === undefined || BigInt(delivery.epoch) > BigInt(latest.epoch)) firsts.push(delivery);
    else if (delivery.epoch !== latest.epoch) {
      caught.add(delivery);
      const since = firsts.find(({ epoch }) => BigInt(epoch) > BigInt(delivery.epoch))?.at ?? delivery.at;
      const stall = stalls.find((one) => !used.has(one) && isHeldUp(delivery, one));
      if (stall !== undefined) used.add(stall);
      if (stall !== undefined && !wasAwake(history, delivery, since)) continue;
      const text = `${told(delivery)} began after epoch ${latest.epoch} had delivered`;
      violations.push({ checker: name, at: delivery.at, text });
    }
  }
  return { caught, violations };
}

function isHeldUp({ at, by }: DeliveryEvent, stall: FaultPeriod): boolean {
  return mayDelay(stall, at) && isFeltBy(by, stall);
}

/** Whether its process told of anything after another had delivered, and before this. */
function wasAwake(history: readonly HistoryEvent[], { by, at }: DeliveryEvent, since: number): boolean {
  const ofOthers: readonly HistoryEvent["kind"][] = ["fault", "process"];
  return history.some(
    (event) => event.by === by && event.at > since && event.at < at && !ofOthers.includes(event.kind),
  );
}

/** Walks through one lane of one stage, in the order of time. */
function laneViolations(unsorted: readonly DeliveryEvent[], bounds: Bounds): readonly Violation[] {
  const found: Violation[] = [];
  const seen = new Map<number, DeliveryEvent[]>();
  const repeatedBy = new Map<string, Set<number>>();
  const reached = new Reached(bounds.lost);
  for (const delivery of unsorted.toSorted((one, other) => one.at - other.at)) {
    const say = (why: string) => found.push({ checker: name, at: delivery.at, text: `${told(delivery)} ${why}` });
    const all = seen.get(delivery.number) ?? [];
    seen.set(delivery.number, [...all, delivery]);
    // A failure of a database that is gone may be known to the one that took over, where it was that one's already.
    const failures = all.filter(({ failed }) => failed === true).length;
    if (delivery.attempt > failures + 1) say("spent an attempt without a failure");
    const own = all.findLast(({ epoch }) => epoch === delivery.epoch);
    if (own !== undefined && isRepeated(delivery, own) && !hasLostTrack(bounds, own, delivery))
      say("came again by the same leader, and had not failed");
    // What a database delivered that is gone may come again, from another place.
    if (isWithin(bounds.lost, delivery.at)) continue;
    const kept = all.filter(({ at }) => !isWithin(bounds.lost, at));
    if (kept.some(({ position }) => position !== delivery.position)) say("is in two places");
    const highest = reached.before(delivery);
    if (kept.some((one) => isRepeated(delivery, one))) {
      if (delivery.position <= highest - bounds.batch) say(`came again when position ${highest} had been reached`);
      const repeated = repeatedBy.get(delivery.epoch) ?? new Set();
      if (own === undefined) repeatedBy.set(delivery.epoch, repeated.add(delivery.number));
      if (own === undefined && repeated.size === bounds.batch + 1)
        say(`is one more than the ${bounds.batch} that may come again`);
    }
    reached.note(delivery);
  }
  return found;
}

/** How far a lane has come, as the database knows it that took over last: all but a batch before that was finished, and stays so. */
class Reached {
  private readonly lost: readonly Period[];
  private readonly noted: DeliveryEvent[] = [];
  private highest = 0;
  private last = Number.NEGATIVE_INFINITY;

  constructor(lost: readonly Period[]) {
    this.lost = lost;
  }

  before({ at }: DeliveryEvent): number {
    const crossed = this.lost.filter(({ from, to }) => from <= at && to >= this.last);
    this.last = at;
    for (const { from } of crossed) {
      const sure = this.noted.filter((one) => one.at < from - flushedWithinMs);
      this.highest = sure.reduce((most, { position }) => Math.max(most, position), 0);
    }
    return this.highest;
  }

  note(delivery: DeliveryEvent): void {
    this.noted.push(delivery);
    this.highest = Math.max(this.highest, delivery.position);
  }
}

/** Between the two: what was lost sight of before is found again by then. It is not told where a shut gate ended the work. */
function hasLostTrack({ lostTrack, faults }: Bounds, from: DeliveryEvent, to: DeliveryEvent): boolean {
  const mayHaveShut = (fault: FaultPeriod): boolean => fault.from <= to.at && from.at <= fault.to + shutWithinMs;
  const isToldOf = lostTrack.get(to.epoch)?.some((at) => from.at <= at && at <= to.at) ?? false;
  return isToldOf || faults.some((fault) => mayHaveShut(fault) && isFeltBy(to.by, fault));
}

function isFeltBy(process: string, { on }: FaultPeriod): boolean {
  return on === "db" || on === "pool" || placesOf(on).includes(placeOf(process));
}

/** One that had failed is not repeated but tried again, where its attempt says so. */
function isRepeated({ attempt }: DeliveryEvent, earlier: DeliveryEvent): boolean {
  return earlier.failed !== true || attempt <= earlier.attempt;
}

function told({ stage, lane, number, position, epoch, attempt, by }: DeliveryEvent): string {
  return `${stage}: ${lane} ${number} (position ${position}, epoch ${epoch}, attempt ${attempt}, ${by})`;
}
