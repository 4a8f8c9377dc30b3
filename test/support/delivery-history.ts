/**
 * What the processes of a queue were seen to deliver, and the judgement on it: G4 (nothing acknowledged is lost) and G5 (in
 * order in each lane, repeated only within the bound). Pure: the history comes in, violations come out.
 *
 * Not judged, since it is not promised: when the effect of a handler is seen outside. A leader that was frozen while its
 * handler ran may finish that effect after its successor has repeated it. What is judged is when deliveries begin.
 */
export interface Delivery {
  readonly stage: string;
  readonly lane: string;
  /** Counts up from 1 in each lane, in the order in which messages were acknowledged. */
  readonly number: number;
  readonly position: number;
  readonly epoch: number;
  readonly attempt: number;
  /** When its handler was called, on the clock that all processes share, in milliseconds. */
  readonly at: number;
  /** Whether this handler then failed. */
  readonly failed: boolean;
}

/** What a lane's row said was in flight: the positions after `done` up to `claimed`. */
export interface InFlight {
  readonly stage: string;
  readonly lane: string;
  readonly done: number;
  readonly claimed: number;
}

/** A leader that was frozen, and thawed when another led. */
export interface Freeze {
  readonly epoch: number;
  /** Once it stood still; null where another had taken over before it could be read. */
  readonly inFlight: readonly InFlight[] | null;
}

export interface DeliveryHistory {
  readonly stages: readonly string[];
  /** By lane: the highest number that was asked to be taken in. */
  readonly sent: ReadonlyMap<string, number>;
  /** By lane: everything up to this number was acknowledged. */
  readonly acknowledged: ReadonlyMap<string, number>;
  /** In any order. */
  readonly deliveries: readonly Delivery[];
  readonly freezes: readonly Freeze[];
  /** Epochs whose leader stayed, and said that it had lost track of what was claimed or finished. */
  readonly lostTrack: ReadonlySet<number>;
  /** The most messages of one lane that can be in flight: the queue's `batch`. */
  readonly batch: number;
}

export interface Violation {
  readonly kind: /** Acknowledged, and not delivered in every stage (G4). */
    | "lost"
    /** Delivered, and never sent. */
    | "invented"
    /** One message in two places: it was taken in twice, or handed over twice. */
    | "doubled"
    /** Delivered for the first time before one that was acknowledged earlier; or a leader left one out (G5). */
    | "inverted"
    /** Delivered again by the same leader, although it had neither failed nor been lost track of. */
    | "repeated"
    /** Delivered again after a failover, in greater number than one of its lane's claims, or though it was settled. */
    | "beyond_bound"
    /** A crash was counted as an attempt. */
    | "attempt_spent"
    /** Begun under an epoch after a later one had delivered (G3), beyond the one handler that a freeze may catch at its start. */
    | "stale";
  readonly text: string;
}

/** Empty where the history keeps every promise. */
export function violationsOf(history: DeliveryHistory): readonly Violation[] {
  const lanes = byLane(history);
  return [
    ...[...lanes.values()].flatMap((lane) => laneViolations(lane, history)),
    ...staleDeliveries(history),
    ...history.freezes.flatMap((freeze) => settledYetRepeated(freeze, lanes)),
  ];
}

/** By the epoch that repeated them: how many messages had been delivered under an earlier one, and of how many lanes. */
export function repetitionsOf({ deliveries }: DeliveryHistory): ReadonlyMap<number, Repetitions> {
  const seen = new Map<string, Delivery[]>();
  const repeated = new Map<number, { messages: Set<string>; lanes: Set<string> }>();
  for (const delivery of inOrder(deliveries)) {
    const message = `${laneOf(delivery)} ${delivery.number}`;
    const earlier = seen.get(message) ?? [];
    seen.set(message, [...earlier, delivery]);
    if (!isRepetition(delivery, earlier)) continue;
    const known = repeated.get(delivery.epoch) ?? { messages: new Set(), lanes: new Set() };
    repeated.set(delivery.epoch, known);
    known.messages.add(message);
    known.lanes.add(laneOf(delivery));
  }
  return new Map([...repeated].map(([epoch, { messages, lanes }]) => [epoch, sizes(messages, lanes)]));
}

export interface Repetitions {
  readonly messages: number;
  readonly lanes: number;
}

function sizes(messages: ReadonlySet<string>, lanes: ReadonlySet<string>): Repetitions {
  return { messages: messages.size, lanes: lanes.size };
}

interface LaneStory {
  readonly name: string;
  readonly sent: number;
  readonly acknowledged: number;
  readonly deliveries: readonly Delivery[];
}

/** Also the lanes in which nothing was delivered: there most of all something may be missing. */
function byLane({ stages, sent, acknowledged, deliveries }: DeliveryHistory): ReadonlyMap<string, LaneStory> {
  const grouped = groupBy(inOrder(deliveries), laneOf);
  const lanes = [...sent.keys()].flatMap((lane) => stages.map((stage) => ({ stage, lane })));
  return new Map(
    [...lanes, ...[...grouped.values()].flatMap((group) => group.slice(0, 1))].map((one): [string, LaneStory] => {
      const name = laneOf(one);
      return [
        name,
        {
          name,
          sent: sent.get(one.lane) ?? 0,
          acknowledged: acknowledged.get(one.lane) ?? 0,
          deliveries: grouped.get(name) ?? [],
        },
      ];
    }),
  );
}

/** Walks through one lane of one stage, in the order of time. */
function laneViolations(lane: LaneStory, { batch, lostTrack }: DeliveryHistory): readonly Violation[] {
  const found: Violation[] = [];
  const seen = new Map<number, Delivery[]>();
  const lastOfEpoch = new Map<number, Delivery>();
  const repeatedBy = new Map<number, Set<number>>();
  let highest = 0;
  for (const delivery of lane.deliveries) {
    const { number, epoch } = delivery;
    const earlier = seen.get(number) ?? [];
    seen.set(number, [...earlier, delivery]);
    const say = (kind: Violation["kind"], why: string) => found.push({ kind, text: `${told(delivery)} ${why}` });

    if (number > lane.sent) say("invented", "was never sent");
    if (earlier.length === 0 && number !== highest + 1) say("inverted", `came first when ${highest} was the highest`);
    highest = Math.max(highest, number);
    if (earlier.some(({ position }) => position !== delivery.position)) say("doubled", "is in two places");
    if (delivery.attempt > earlier.filter(({ failed }) => failed).length + 1) say("attempt_spent", "without a failure");

    const before = lastOfEpoch.get(epoch);
    lastOfEpoch.set(epoch, delivery);
    // A leader that lost its connection, and said so, repeats what it does not know to be settled.
    const mayRepeat = before !== undefined && lostTrack.has(epoch) && number > before.number - batch;
    if (before !== undefined && before.number === number) {
      const isRetry = before.failed && delivery.attempt === before.attempt + 1;
      if (!isRetry && !mayRepeat) say("repeated", "had not failed");
    } else if (before !== undefined && number <= before.number) {
      if (!mayRepeat) say("repeated", `came after ${before.number}`);
    } else if (before !== undefined && number > before.number + 1) say("inverted", `came right after ${before.number}`);

    if (isRepetition(delivery, earlier)) {
      const repeated = repeatedBy.get(epoch) ?? new Set();
      repeatedBy.set(epoch, repeated.add(number));
    }
  }
  for (let number = 1; number <= lane.acknowledged; number += 1) {
    if (!seen.has(number)) found.push({ kind: "lost", text: `${lane.name} ${number} was acknowledged` });
  }
  for (const [epoch, { size }] of repeatedBy) {
    if (size <= batch) continue;
    found.push({ kind: "beyond_bound", text: `epoch ${epoch} repeated ${size} messages of ${lane.name}` });
  }
  return found;
}

/**
 * A gate that is open is asked just before the handler is called, and there is one thread: a freeze can come between the two
 * once. Any other delivery that begins after a later epoch has delivered was let through by a gate that should be shut.
 */
function staleDeliveries({ deliveries, freezes }: DeliveryHistory): readonly Violation[] {
  const found: Violation[] = [];
  const caught = new Set(freezes.map(({ epoch }) => epoch));
  let latest = 0;
  for (const delivery of inOrder(deliveries)) {
    latest = Math.max(latest, delivery.epoch);
    if (delivery.epoch === latest || caught.delete(delivery.epoch)) continue;
    found.push({ kind: "stale", text: `${told(delivery)} began after epoch ${latest} had delivered` });
  }
  return found;
}

/** Where it is known what was in flight when the leader stopped, nothing else of what it had delivered may come again. */
function settledYetRepeated({ epoch, inFlight }: Freeze, lanes: ReadonlyMap<string, LaneStory>): readonly Violation[] {
  if (inFlight === null) return [];
  const flights = new Map(inFlight.map((flight) => [laneOf(flight), flight]));
  return [...lanes.values()].flatMap(({ name, deliveries }) => {
    const flight = flights.get(name);
    const own = groupBy(
      deliveries.filter((one) => one.epoch === epoch),
      ({ number }) => number,
    );
    return deliveries
      .filter((one) => one.epoch > epoch && isRepetition(one, own.get(one.number) ?? []))
      .filter(({ position }) => flight === undefined || position <= flight.done || position > flight.claimed)
      .map((one): Violation => ({ kind: "beyond_bound", text: `${told(one)} was not in flight under ${epoch}` }));
  });
}

/** Of what an earlier leader had delivered. One that had failed is not repeated but tried again. */
function isRepetition({ epoch, attempt }: Delivery, earlier: readonly Delivery[]): boolean {
  return earlier.some((one) => one.epoch < epoch && (!one.failed || attempt <= one.attempt));
}

function groupBy<Item, Key>(items: readonly Item[], keyOf: (item: Item) => Key): ReadonlyMap<Key, readonly Item[]> {
  const groups = new Map<Key, Item[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return groups;
}

function inOrder(deliveries: readonly Delivery[]): readonly Delivery[] {
  return deliveries.toSorted((one, other) => one.at - other.at);
}

function laneOf({ stage, lane }: { readonly stage: string; readonly lane: string }): string {
  return `${stage}/${lane}`;
}

function told(delivery: Delivery): string {
  const { number, epoch, attempt, position, at } = delivery;
  return `${laneOf(delivery)} ${number} (epoch ${epoch}, attempt ${attempt}, position ${position}, at ${at.toFixed(1)})`;
}
