import { HoldfastError } from "../errors.js";
import type { ReceivedLine } from "../store/journal.js";
import {
  type AppendBatch,
  delayHeader,
  type StoredMessage,
  type NewMessage as StoredNewMessage,
} from "../store/queue-contract.js";
import { activeCarrier } from "../telemetry/traces.js";
import type { Lane } from "./core/lane.js";
import type { LaneTable } from "./lane-table.js";
import type { NewMessage } from "./message.js";
import { RecentMessages } from "./recent-messages.js";
import type { QueueTermParts } from "./term-parts.js";

/** A message that has been checked, on its way into its lane. */
export interface Incoming {
  readonly stage: string;
  readonly lane: string;
  readonly key: string | null;
  readonly headers: Readonly<Record<string, string>> | null;
  readonly body: Buffer;
  readonly record?: Recorder | undefined;
}

/**
 * Called when a message is given its place, in the order of the commits, so that the message engine can number what it takes
 * in. Called again where the message is given another place: of the first nothing was written.
 */
export type Recorder = () => Recorded;

export interface Recorded {
  readonly line: Omit<ReceivedLine, "lane" | "position" | "size">;
  /** Added to the message's own. */
  readonly headers: Readonly<Record<string, string>>;
}

export function incomingOf(message: NewMessage, firstStage: string, record?: Recorder): Incoming {
  const { lane, body, key = null, headers = null, stage = firstStage, delayMs = 0 } = message;
  // A copy: whoever gave the bytes may use them for something else before they are committed.
  const bytes = typeof body === "string" ? Buffer.from(body) : Buffer.from(body);
  return { stage, lane, key, headers: withDelay(withTrace(headers), delayMs), body: bytes, record };
}

/** A message that says itself which trace it belongs to is taken at its word. */
function withTrace(headers: Incoming["headers"]): Incoming["headers"] {
  const carrier = activeCarrier();
  return carrier === null ? headers : { ...carrier, ...headers };
}

/** Whoever hands a message on with all its headers does not hand on its delay. */
function withDelay(headers: Incoming["headers"], delayMs: number): Incoming["headers"] {
  if (delayMs > 0) return { ...headers, [delayHeader]: `${delayMs}` };
  if (headers?.[delayHeader] === undefined) return headers;
  const { [delayHeader]: _, ...rest } = headers;
  return rest;
}

/** A batch with its places in the lanes, which it holds until it is committed or given up. */
export interface PlacedBatch {
  readonly batch: AppendBatch;
  readonly lanes: ReadonlyMap<Lane, number>;
}

/**
 * Gives messages their places. A lane has one append under way at a time: were there two, the later could commit first, or
 * alone, and the lane would have a gap.
 */
export class Appender {
  private readonly parts: QueueTermParts;
  private readonly table: LaneTable;
  private readonly doubtful = new Set<Lane>();
  private readonly recent = new RecentMessages();
  segment: number;

  constructor(parts: QueueTermParts, table: LaneTable, segment: number) {
    this.parts = parts;
    this.table = table;
    this.segment = segment;
  }

  /** Makes the lanes of these messages known. */
  async openLanes(messages: readonly Incoming[]): Promise<void> {
    const unknown = new Map<string, { stage: string; lane: string }>();
    for (const { stage, lane } of messages) {
      if (this.table.find(stage, lane) === undefined) unknown.set(`${stage}\n${lane}`, { stage, lane });
    }
    if (unknown.size === 0) return;
    const { book, fence, settings } = this.parts;
    const rows = await book.openLanes(fence, settings.name, [...unknown.values()], this.segment);
    // Another may have opened it meanwhile, and something of it may be in flight by now, or on its way to it.
    for (const row of rows) if (this.table.get(row.id) === undefined) this.table.load(row);
  }

  /** Whether an append to the message's lane may begin now. Its lane must be known. */
  isFree(message: Incoming): boolean {
    return this.table.find(message.stage, message.lane)?.appending === false;
  }

  /** Nobody else may append to the lanes of these messages, which are free, until they are freed or placed and committed. */
  hold(messages: readonly Incoming[]): void {
    for (const lane of this.lanesOf(messages)) lane.appending = true;
  }

  free(messages: readonly Incoming[]): void {
    for (const lane of this.lanesOf(messages)) lane.appending = this.doubtful.has(lane);
  }

  lanesOf(messages: readonly Incoming[]): Set<Lane> {
    return new Set(messages.flatMap(({ stage, lane }) => this.table.find(stage, lane) ?? []));
  }

  /** The messages' places, in the order given. From now on nobody else may append to their lanes. */
  place(messages: readonly Incoming[]): PlacedBatch {
    const lanes = new Map<Lane, number>();
    let journal: ReceivedLine[] | undefined;
    const placed: StoredNewMessage[] = messages.map(({ stage, lane: name, key, headers, body, record }) => {
      const lane = this.table.find(stage, name);
      if (lane === undefined) throw new HoldfastError("BROKEN_INVARIANT", "a message was placed in an unknown lane");
      const position = (lanes.get(lane) ?? lane.tail) + 1;
      lanes.set(lane, position);
      const message = { lane: lane.id, position, key, headers, body };
      if (record === undefined) return message;
      const recorded = record();
      journal ??= [];
      journal.push({ ...recorded.line, lane: lane.id, position, size: body.length });
      return { ...message, headers: { ...headers, ...recorded.headers } };
    });
    for (const lane of lanes.keys()) lane.appending = true;
    const waking = [...lanes.keys()].filter(({ atRest }) => atRest).map(({ id }) => id);
    const { name: queue } = this.parts.settings;
    return { batch: { queue, segment: this.segment, messages: placed, waking, journal }, lanes };
  }

  committed(placed: PlacedBatch): void {
    const { conduct, clock } = this.parts;
    if (conduct.remembers === true) this.recent.note(placed.batch, clock.wall());
    this.redriven(placed);
  }

  /** The same of what went from one table of the database to another: nobody here has its bodies. */
  redriven({ lanes }: PlacedBatch): void {
    for (const [lane, tail] of lanes) {
      lane.tail = tail;
      lane.appending = false;
      lane.atRest = false;
      this.table.touch(lane);
    }
  }

  /** The next messages of a lane, where they are still at hand. */
  atHand(lane: Lane, most: number): readonly StoredMessage[] | undefined {
    return this.recent.take(lane, most);
  }

  /** Nothing of it is in the database, and the places are free again. */
  givenUp({ lanes }: PlacedBatch): void {
    for (const lane of lanes.keys()) lane.appending = false;
  }

  /** Nobody knows whether it is in the database. Until the lanes have been read again, their places are not given to others. */
  doubt({ lanes }: PlacedBatch): void {
    for (const lane of lanes.keys()) this.doubtful.add(lane);
  }

  doubts(): readonly Lane[] {
    return [...this.doubtful];
  }

  isInDoubt(lanes: ReadonlySet<Lane>): boolean {
    return this.doubtful.size > 0 && [...lanes].some((lane) => this.doubtful.has(lane));
  }

  /** These were read after they had come into doubt. */
  resolve(lanes: readonly Lane[]): void {
    for (const lane of lanes) {
      this.doubtful.delete(lane);
      lane.appending = false;
    }
  }
}
