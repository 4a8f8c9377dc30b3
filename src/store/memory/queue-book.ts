import type { FenceToken, Page } from "../contract.js";
import type { SettledJournal } from "../journal.js";
import type {
  AppendBatch,
  ClaimOrder,
  DeadLetter,
  DeadLetterWithBody,
  LaneName,
  LaneRow,
  LetterWish,
  MessageHead,
  MessagePlace,
  QueueBook,
  RecoverOrder,
  Recovery,
  RedriveOrder,
  Settlement,
  SkipOutcome,
  StoredMessage,
} from "../queue-contract.js";
import { pageOf } from "./books.js";
import type { MemoryLane, MemoryQueueTables } from "./queue-tables.js";

interface Commit {
  onCommit(effect: () => void): void;
}

type Fenced = (fence: FenceToken, fn: (tx: Commit) => Promise<void>) => Promise<void>;

/** The queue in memory. Each write is done whole, at the commit of a fenced transaction, or not at all. */
export class MemoryQueueBook implements QueueBook {
  private readonly tables: MemoryQueueTables;
  private readonly now: () => number;
  private readonly fenced: Fenced;

  constructor(tables: MemoryQueueTables, now: () => number, fenced: Fenced) {
    this.tables = tables;
    this.now = now;
    this.fenced = fenced;
  }

  private async write<Result>(fence: FenceToken, apply: () => Result): Promise<Result> {
    const written: Result[] = [];
    await this.fenced(fence, async (tx) => await Promise.resolve(tx.onCommit(() => written.push(apply()))));
    return written[0] as Result;
  }

  async recover(fence: FenceToken, { queue, maxReclaims, own }: RecoverOrder): Promise<Recovery> {
    this.tables.requireOwner(queue, fence.role);
    return await this.write(fence, () => {
      this.tables.own(queue, fence.role);
      const busy = this.tables.lanesOf(queue).filter((lane) => lane.busy);
      const left = busy.filter((lane) => lane.claimed > lane.done && (own || lane.claimEpoch < fence.epoch));
      for (const lane of left) {
        giveBack(lane);
        if (lane.claimEpoch < fence.epoch) lane.reclaims += 1;
      }
      const suspects = left.filter(({ reclaims }) => reclaims > maxReclaims);
      for (const lane of suspects) {
        this.tables.bury(lane, `in flight in ${lane.reclaims} crashes in a row`, lane.attempts);
      }
      return {
        segment: this.tables.openSegmentOf(queue) ?? this.tables.openSegment(queue),
        lanes: busy.map((lane) => this.tables.row(lane)),
        reclaimed: left.length,
        quarantined: suspects.length,
      };
    });
  }

  async openLanes(fence: FenceToken, queue: string, lanes: readonly LaneName[]): Promise<readonly LaneRow[]> {
    return await this.write(fence, () => {
      const opened = lanes.map(({ stage, lane: name }) => {
        const lane = this.tables.find(queue, stage, name) ?? this.tables.addLane(queue, stage, name);
        lane.busy = true;
        return lane;
      });
      return [...new Set(opened)].map((lane) => this.tables.row(lane));
    });
  }

  async append(fence: FenceToken, batch: AppendBatch): Promise<number> {
    return await this.write(fence, () => this.tables.append(batch));
  }

  async findKeys(queue: string, keys: readonly string[]): Promise<ReadonlyMap<string, MessagePlace>> {
    const found = new Map<string, MessagePlace>();
    for (const key of keys) {
      const place = this.tables.findKey(queue, key);
      if (place !== undefined) found.set(key, place);
    }
    return await Promise.resolve(found);
  }

  async claim(fence: FenceToken, { claim, leaseMs, wishes }: ClaimOrder): Promise<readonly StoredMessage[]> {
    return await this.write(fence, () => {
      const now = this.now();
      const claimed = wishes.flatMap(({ lane: id, limit, known }) => {
        const lane = this.tables.lanes.get(id);
        if (lane === undefined || !isFree(lane, now)) return [];
        const isNext = known === undefined || known[0]?.position === lane.done + 1;
        const found = isNext ? (known ?? this.tables.prefix(lane, limit)) : [];
        if (found.length > 0) {
          lane.claimed = lane.done + found.length;
          Object.assign(lane, { claim, claimEpoch: fence.epoch, waitUntil: null, leasedUntil: now + leaseMs });
        }
        return found;
      });
      return claimed
        .map((message) => copyOf(message, now))
        .sort((one, other) => one.lane - other.lane || one.position - other.position);
    });
  }

  async settle(
    fence: FenceToken,
    settlements: readonly Settlement[],
    produced: AppendBatch | null,
    journal?: SettledJournal,
  ) {
    return await this.write(fence, () => {
      const fits = (settlement: Settlement): boolean =>
        isClaimOf(this.tables.lanes.get(settlement.lane), settlement, fence.epoch);
      const gone = settlements.filter((settlement) => !fits(settlement)).map(({ lane }) => lane);
      // What a claim that is gone has produced, its successor will produce too.
      if (gone.length > 0 && (produced !== null || journal !== undefined)) return gone;
      if (produced !== null) this.tables.requireFreePlaces(produced);
      for (const settlement of settlements.filter(fits)) this.settleLane(settlement);
      if (produced !== null) this.tables.append(produced);
      if (journal !== undefined) this.tables.engine.settled(journal);
      return gone;
    });
  }

  private settleLane({ lane: id, done, keeps, head }: Settlement): void {
    const lane = this.tables.lanes.get(id) as MemoryLane;
    if (done > lane.done) Object.assign(lane, { attempts: 0, reclaims: 0, lastError: null });
    lane.done = done;
    if (!keeps) giveBack(lane);
    lane.blocked = head.kind === "blocked";
    lane.waitUntil = head.kind === "retry" || head.kind === "delayed" ? this.now() + head.waitMs : null;
    if (head.kind !== "ready" && head.kind !== "delayed")
      Object.assign(lane, { attempts: head.attempts, lastError: head.error });
    if (head.kind === "dead") this.tables.bury(lane, head.error, head.attempts);
  }

  async renew(fence: FenceToken, lanes: readonly number[], leaseMs: number): Promise<void> {
    await this.write(fence, () => {
      for (const lane of this.tables.lanesNamed(lanes)) {
        if (lane.claimed > lane.done && lane.claimEpoch === fence.epoch) lane.leasedUntil = this.now() + leaseMs;
      }
    });
  }

  async sweep(fence: FenceToken, queue: string): Promise<readonly LaneRow[]> {
    return await this.write(fence, () => {
      const expired = this.tables
        .lanesOf(queue)
        .filter((lane) => lane.busy && lane.claimed > lane.done && (lane.leasedUntil ?? Infinity) < this.now());
      for (const lane of expired) giveBack(lane);
      return expired.map((lane) => this.tables.row(lane));
    });
  }

  async rest(fence: FenceToken, lanes: readonly number[]): Promise<void> {
    await this.write(fence, () => {
      for (const lane of this.tables.lanesNamed(lanes)) {
        if (lane.claimed === lane.done && lane.newest <= lane.done) lane.busy = false;
      }
    });
  }

  async setPaused(queue: string, { stage, lane: name }: LaneName, paused: boolean): Promise<LaneRow | null> {
    const lane = this.tables.find(queue, stage, name);
    if (lane === undefined) return await Promise.resolve(null);
    Object.assign(lane, { paused, busy: true, steered: true });
    if (!paused) Object.assign(lane, { blocked: false, waitUntil: null });
    return this.tables.row(lane);
  }

  async skip(queue: string, { stage, lane: name }: LaneName): Promise<SkipOutcome> {
    const lane = this.tables.find(queue, stage, name);
    if (lane === undefined) return await Promise.resolve({ kind: "no_lane" });
    if (!lane.blocked || lane.claimed > lane.done) return { kind: "not_blocked", lane: this.tables.row(lane) };
    this.tables.bury(lane, lane.lastError ?? "skipped", lane.attempts);
    Object.assign(lane, { steered: true, busy: true });
    return { kind: "skipped", lane: this.tables.row(lane) };
  }

  async steered(queue: string): Promise<readonly number[]> {
    const steered = this.tables.lanesOf(queue).filter((lane) => lane.steered);
    return await Promise.resolve(steered.map(({ id }) => id));
  }

  async takeSteered(fence: FenceToken, lanes: readonly number[]): Promise<readonly LaneRow[]> {
    return await this.write(fence, () => {
      const found = this.tables.lanesNamed(lanes);
      for (const lane of found) Object.assign(lane, { steered: false, busy: true });
      return found.map((lane) => this.tables.row(lane));
    });
  }

  async lanes(queue: string): Promise<readonly LaneRow[]> {
    const rows = this.tables.lanesOf(queue).map((lane) => this.tables.row(lane));
    return await Promise.resolve(
      rows.sort((one, other) => compare(one.stage, other.stage) || compare(one.lane, other.lane)),
    );
  }

  async peek(id: number, limit: number): Promise<readonly MessageHead[]> {
    const lane = this.tables.lanes.get(id);
    const found = lane === undefined ? [] : this.tables.unfinished(lane).slice(0, limit);
    return await Promise.resolve(
      found.map(({ lane: at, position, key, headers, body, at: since }) => ({
        lane: at,
        position,
        key,
        headers: headers === null ? null : { ...headers },
        size: body.length,
        at: since,
      })),
    );
  }

  async deadLetters(queue: string, page: Page): Promise<readonly DeadLetter[]> {
    const letters = this.tables.deadLetters.filter((letter) => letter.queue === queue);
    return await Promise.resolve(pageOf(letters, page).map(({ body: _body, queue: _queue, ...letter }) => letter));
  }

  async deadLetter(queue: string, id: string): Promise<DeadLetterWithBody | null> {
    const found = this.tables.deadLetters.find((letter) => letter.queue === queue && letter.id === id);
    if (found === undefined) return await Promise.resolve(null);
    const { queue: _queue, ...letter } = found;
    return { ...letter, body: Buffer.from(letter.body) };
  }

  async letters(queue: string, { ids, stage, lane, limit }: LetterWish): Promise<readonly DeadLetter[]> {
    const found = this.tables.deadLetters.filter(
      (letter) =>
        letter.queue === queue &&
        (ids === undefined ? letter.redrivenAt === null : ids.includes(letter.id)) &&
        (stage ?? letter.stage) === letter.stage &&
        (lane ?? letter.lane) === letter.lane,
    );
    return await Promise.resolve(found.slice(0, limit).map(({ body: _body, queue: _queue, ...letter }) => letter));
  }

  async redrive(fence: FenceToken, order: RedriveOrder): Promise<readonly string[]> {
    return await this.write(fence, () => this.tables.redrive(order));
  }

  async openSegment(fence: FenceToken, queue: string): Promise<number> {
    return await this.write(fence, () => this.tables.openSegment(queue));
  }

  async dropSegments(fence: FenceToken, queue: string, closedForMs: number): Promise<readonly number[]> {
    return await this.write(fence, () => this.tables.dropSegments(queue, closedForMs));
  }
}

/** Nothing in flight, nobody's hand on it, and a head that does not wait. */
function isFree(lane: MemoryLane, now: number): boolean {
  const { done, claimed, paused, blocked, waitUntil } = lane;
  return claimed === done && !paused && !blocked && (waitUntil === null || waitUntil <= now);
}

function isClaimOf(lane: MemoryLane | undefined, settlement: Settlement, epoch: bigint): boolean {
  if (lane === undefined || lane.claim !== settlement.claim || lane.claimEpoch !== epoch) return false;
  return settlement.done >= lane.done && settlement.done <= lane.claimed;
}

function giveBack(lane: MemoryLane): void {
  Object.assign(lane, { claimed: lane.done, claim: 0, leasedUntil: null });
}

/** Whoever gets a message may do to it what he likes, and the next one still gets what was taken in. */
function copyOf(message: StoredMessage, now: number): StoredMessage {
  const { headers, body, at } = message;
  return { ...message, ageMs: now - at, headers: headers === null ? null : { ...headers }, body: Buffer.from(body) };
}

function compare(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}
