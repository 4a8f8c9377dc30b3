import { HoldfastError } from "../../errors.js";
import {
  type AppendBatch,
  type DeadLetterWithBody,
  delayHeader,
  type LaneRow,
  type MessagePlace,
  type RedriveOrder,
  redrivenFrom,
  type StoredMessage,
} from "../queue-contract.js";
import { ownedByAnother } from "../queue-owner.js";
import { MemoryEngineTables } from "./engine-tables.js";

/** A lane's log, and its one row of state. */
export interface MemoryLane {
  readonly id: number;
  readonly queue: string;
  readonly stage: string;
  readonly name: string;
  readonly messages: Map<number, StoredMessage>;
  /** The highest position that was ever taken in. */
  newest: number;
  done: number;
  claimed: number;
  claim: number;
  claimEpoch: bigint;
  leasedUntil: number | null;
  attempts: number;
  reclaims: number;
  waitUntil: number | null;
  lastError: string | null;
  blocked: boolean;
  paused: boolean;
  steered: boolean;
  busy: boolean;
}

export type MemoryLetter = DeadLetterWithBody & { readonly queue: string };

/** What the queues of one database in memory hold. Every method is done at once, and either does all of it or nothing. */
export class MemoryQueueTables {
  readonly queues = new Map<string, { readonly role: string }>();
  readonly lanes = new Map<number, MemoryLane>();
  readonly segments = new Map<number, { readonly queue: string; closedAt: number | null }>();
  readonly deadLetters: MemoryLetter[] = [];
  readonly engine: MemoryEngineTables;
  private readonly byName = new Map<string, MemoryLane>();
  private readonly keys = new Map<string, Map<string, MessagePlace & { readonly segment: number }>>();
  private readonly now: () => number;
  private segmentCount = 0;

  /** What is journaled with messages goes to the tables of the engine. */
  constructor(now: () => number, engine: MemoryEngineTables = new MemoryEngineTables(now)) {
    this.now = now;
    this.engine = engine;
  }

  requireOwner(queue: string, role: string): void {
    const owner = this.queues.get(queue)?.role ?? role;
    if (owner !== role) throw ownedByAnother(queue, owner, role);
  }

  /** From the first time on it is this role's. */
  own(queue: string, role: string): void {
    this.requireOwner(queue, role);
    this.queues.set(queue, { role });
  }

  lanesOf(queue: string): MemoryLane[] {
    return [...this.lanes.values()].filter((lane) => lane.queue === queue);
  }

  lanesNamed(ids: readonly number[]): MemoryLane[] {
    return ids.flatMap((id) => this.lanes.get(id) ?? []);
  }

  find(queue: string, stage: string, name: string): MemoryLane | undefined {
    return this.byName.get(JSON.stringify([queue, stage, name]));
  }

  addLane(queue: string, stage: string, name: string): MemoryLane {
    const lane: MemoryLane = {
      id: this.lanes.size + 1,
      queue,
      stage,
      name,
      messages: new Map(),
      newest: 0,
      done: 0,
      claimed: 0,
      claim: 0,
      claimEpoch: 0n,
      leasedUntil: null,
      attempts: 0,
      reclaims: 0,
      waitUntil: null,
      lastError: null,
      blocked: false,
      paused: false,
      steered: false,
      busy: true,
    };
    this.lanes.set(lane.id, lane);
    this.byName.set(JSON.stringify([queue, stage, name]), lane);
    return lane;
  }

  row(lane: MemoryLane): LaneRow {
    const { id, stage, name, done, newest, attempts, reclaims, paused, blocked, lastError } = lane;
    const waitMs = Math.max(0, (lane.waitUntil ?? 0) - this.now());
    const tail = Math.max(done, newest);
    return { id, stage, lane: name, done, tail, attempts, reclaims, waitMs, paused, blocked, lastError };
  }

  /** Throws where the batch cannot be taken in, before anything has been. */
  requirePlaces({ queue, segment, messages }: AppendBatch): void {
    if (messages.length > 0 && this.segments.get(segment)?.queue !== queue) {
      throw new HoldfastError("DATABASE_REFUSED", `Queue "${queue}" has no segment ${segment}.`);
    }
    const missing = messages.find(({ lane }) => this.lanes.get(lane)?.queue !== queue);
    if (missing !== undefined) {
      throw new HoldfastError("DATABASE_REFUSED", `Queue "${queue}" has no lane ${missing.lane}.`);
    }
  }

  /** For what is written with something else: all of it finds its place, or none does. */
  requireFreePlaces(batch: AppendBatch): void {
    this.requirePlaces(batch);
    const taken = batch.messages.some(({ lane, position }) => this.lanes.get(lane)?.messages.has(position));
    if (taken || !this.engine.areNew(batch.journal ?? []))
      throw new HoldfastError("REFUSED", "Messages were to go where others are: nothing was taken in.");
  }

  /** Answers with how many it added. */
  append(batch: AppendBatch): number {
    this.requirePlaces(batch);
    const { queue, segment, messages, waking, journal = [] } = batch;
    if (messages.length > 0 && !this.engine.areNew(journal)) return 0;
    if (messages.some(({ lane, position }) => this.lanes.get(lane)?.messages.has(position))) return 0;
    for (const { lane: id, position, key, headers, body } of messages) {
      const lane = this.lanes.get(id) as MemoryLane;
      const kept = { headers: headers === null ? null : { ...headers }, body: Buffer.from(body) };
      lane.messages.set(position, { lane: id, position, segment, key, at: this.now(), ageMs: 0, ...kept });
      lane.newest = Math.max(lane.newest, position);
      const keys = this.keysOf(queue);
      if (key !== null && !keys.has(key)) keys.set(key, { lane: id, position, segment });
    }
    if (messages.length > 0) {
      for (const lane of this.lanesNamed(waking)) lane.busy = true;
      this.engine.received(journal);
    }
    return messages.length;
  }

  findKey(queue: string, key: string): MessagePlace | undefined {
    const found = this.keysOf(queue).get(key);
    return found && { lane: found.lane, position: found.position };
  }

  private keysOf(queue: string): Map<string, MessagePlace & { readonly segment: number }> {
    const known = this.keys.get(queue);
    if (known !== undefined) return known;
    const made = new Map<string, MessagePlace & { readonly segment: number }>();
    this.keys.set(queue, made);
    return made;
  }

  /** The messages from the head on, without a gap. */
  prefix(lane: MemoryLane, limit: number): StoredMessage[] {
    const found: StoredMessage[] = [];
    while (found.length < limit) {
      const message = lane.messages.get(lane.done + 1 + found.length);
      if (message === undefined) break;
      found.push(message);
    }
    return found;
  }

  /** Those that are not finished, also behind a gap. */
  unfinished(lane: MemoryLane): StoredMessage[] {
    const beyond = [...lane.messages.values()].filter(({ position }) => position > lane.done);
    return beyond.sort((one, other) => one.position - other.position);
  }

  /** The head of a lane makes way: its body is kept apart, and the lane goes on behind it. */
  bury(lane: MemoryLane, reason: string, attempts: number): void {
    const head = lane.messages.get(lane.done + 1);
    if (head === undefined) return;
    const { position, key, headers, body } = head;
    this.deadLetters.push({
      id: `${this.deadLetters.length + 1}`,
      queue: lane.queue,
      stage: lane.stage,
      lane: lane.name,
      position,
      key,
      headers,
      body,
      reason,
      attempts,
      reclaims: lane.reclaims,
      diedAt: this.now(),
      redrivenAt: null,
      redrivenTo: null,
    });
    lane.done += 1;
    lane.claimed = Math.max(lane.claimed, lane.done);
    Object.assign(lane, { attempts: 0, reclaims: 0, waitUntil: null, lastError: null, blocked: false });
  }

  /** All of them or none. Answers with those that may go there. */
  redrive({ queue, segment, letters, waking }: RedriveOrder): readonly string[] {
    const fitting = letters.flatMap((place) => {
      const letter = this.deadLetters.find(({ id }) => id === place.id);
      const lane = this.lanes.get(place.lane);
      const isOwn = letter !== undefined && letter.queue === queue && lane?.queue === queue;
      if (!isOwn || lane.stage !== letter.stage || lane.name !== letter.lane) return [];
      return letter.redrivenAt === null || letter.redrivenTo === place.position ? [{ place, letter }] : [];
    });
    if (fitting.length < letters.length) return fitting.map(({ letter }) => letter.id);
    const messages = fitting.map(({ place, letter }) => ({
      lane: place.lane,
      position: place.position,
      key: letter.key,
      headers: { ...withoutDelay(letter.headers), [redrivenFrom]: letter.id },
      body: letter.body,
    }));
    const batch = { queue, segment, messages, waking };
    const fresh = fitting.map(({ letter }) => letter.redrivenAt === null);
    this.requireFreePlaces({ ...batch, messages: messages.filter((_, index) => fresh[index]) });
    for (const { place, letter } of fitting) this.markRedriven(letter, place, segment);
    this.append(batch);
    return letters.map(({ id }) => id);
  }

  /** The key moves on with its message, unless another message has it by now. */
  private markRedriven(letter: MemoryLetter, { lane, position }: MessagePlace, segment: number): void {
    const redriven = { ...letter, redrivenAt: letter.redrivenAt ?? this.now(), redrivenTo: position };
    this.deadLetters[this.deadLetters.indexOf(letter)] = redriven;
    const keys = this.keysOf(letter.queue);
    const holder = letter.key === null ? undefined : keys.get(letter.key);
    if (letter.key !== null && holder?.lane === lane && holder.position === letter.position) {
      keys.set(letter.key, { lane, position, segment });
    }
  }

  openSegmentOf(queue: string): number | undefined {
    return [...this.segments].find(([, segment]) => segment.queue === queue && segment.closedAt === null)?.[0];
  }

  openSegment(queue: string): number {
    for (const segment of this.segments.values()) {
      if (segment.queue === queue) segment.closedAt ??= this.now();
    }
    this.segmentCount += 1;
    this.segments.set(this.segmentCount, { queue, closedAt: null });
    return this.segmentCount;
  }

  dropSegments(queue: string, closedForMs: number): number[] {
    const old = [...this.segments].filter(
      ([, { queue: owner, closedAt }]) => owner === queue && closedAt !== null && closedAt <= this.now() - closedForMs,
    );
    const lanes = this.lanesOf(queue);
    const needed = new Set(lanes.flatMap((lane) => this.unfinished(lane)).map(({ segment }) => segment));
    const dropped = old.map(([id]) => id).filter((id) => !needed.has(id));
    for (const id of dropped) this.dropSegment(id, queue, lanes);
    return dropped;
  }

  private dropSegment(id: number, queue: string, lanes: readonly MemoryLane[]): void {
    for (const { messages } of lanes) {
      for (const [position, { segment }] of messages) if (segment === id) messages.delete(position);
    }
    const keys = this.keysOf(queue);
    for (const [key, { segment }] of keys) if (segment === id) keys.delete(key);
    this.segments.delete(id);
  }
}

function withoutDelay(headers: Readonly<Record<string, string>> | null): Readonly<Record<string, string>> {
  const { [delayHeader]: _, ...rest } = headers ?? {};
  return rest;
}
