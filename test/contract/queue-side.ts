import { HoldfastError } from "../../src/errors.js";
import type { FenceToken } from "../../src/store/fence-token.js";
import {
  type AppendBatch,
  type DeadLetter,
  type LaneRow,
  type MessagePlace,
  type NewMessage,
  type QueueBook,
  redrivenFrom,
  type Settlement,
} from "../../src/store/queue-contract.js";
import { Player, type StoreHarness } from "./harness.js";

export type QueueAct =
  | { readonly kind: "open" | "renew" | "rest" | "skip" | "writeLate"; readonly lane: number }
  | {
      readonly kind: "append";
      readonly lane: number;
      readonly count: number;
      readonly keyed: boolean;
      /** 1 leaves a gap, less than 0 goes where messages are. */
      readonly skip: number;
      readonly waking: boolean;
    }
  | { readonly kind: "claim"; readonly lanes: readonly number[]; readonly limit: number }
  | {
      readonly kind: "settle";
      readonly lanes: readonly number[];
      readonly progress: number;
      /** By how much the claim's number is off. */
      readonly behind: number;
      readonly keeps: boolean;
      readonly head: Settlement["head"];
      readonly produces: number | null;
      /** What is produced goes where a message is. */
      readonly collides: boolean;
    }
  | { readonly kind: "sweep" | "openSegment" | "takeOver" | "takeSteered" }
  | { readonly kind: "pause"; readonly lane: number; readonly paused: boolean }
  | { readonly kind: "redrive"; readonly letter: number; readonly lane: number }
  | { readonly kind: "dropSegments"; readonly closedForMs: number }
  | { readonly kind: "pass"; readonly ms: number }
  | { readonly kind: "recover"; readonly own: boolean };

const maxReclaims = 1;
const names = ["x", "y", "z"] as const;

/** One store with a queue, and the same acts done to it. Its ids are its own: all that it tells is told by name. */
export class QueueSide {
  private readonly harness: StoreHarness;
  private readonly player: Player;
  private readonly book: QueueBook;
  private fence: FenceToken;
  private queue = "";
  private queues = 0;
  private claims = 0;
  private lanes: LaneRow[] = [];
  private readonly segments: number[] = [];
  private readonly claimOf = new Map<number, number>();
  /** The segments of places, as given and as told. */
  private readonly placed = new Map<string, number>();
  private readonly claimedSegment = new Map<string, number>();

  private constructor(harness: StoreHarness, player: Player, fence: FenceToken) {
    this.harness = harness;
    this.player = player;
    this.book = player.store.queue;
    this.fence = fence;
  }

  static async open(harness: StoreHarness): Promise<QueueSide> {
    const player = await Player.join(harness, "a");
    return new QueueSide(harness, player, player.fence(await player.lead()));
  }

  /** A new queue: nothing of the last one is in it. */
  async begin(): Promise<void> {
    this.queues += 1;
    this.queue = `queue ${this.queues}`;
    this.claimOf.clear();
    await this.recover(false);
    await this.book.openLanes(
      this.fence,
      this.queue,
      names.map((lane) => ({ stage: "in", lane })),
    );
    await this.look();
  }

  close(): void {
    this.player.crash();
  }

  /** What an observer can tell of the act, without times and ids. `gist`: what kind of answer it was. */
  async do(act: QueueAct): Promise<{ readonly gist: string }> {
    const outcome = await this.perform(act).catch((error: unknown) => {
      if (!(error instanceof HoldfastError)) throw error;
      return error.code;
    });
    return { gist: gistOf(outcome), outcome, ...(await this.look()) } as { gist: string };
  }

  /** Everything that the book shows. */
  private async look(): Promise<Record<string, unknown>> {
    this.lanes = [...(await this.book.lanes(this.queue))];
    const heads = [];
    for (const { id } of this.lanes) heads.push((await this.book.peek(id, 9)).map((message) => this.name(message)));
    const letters = (await this.letters()).map(({ id: _id, diedAt: _diedAt, redrivenAt, ...letter }) => ({
      ...letter,
      headers: withoutId(letter.headers),
      redriven: redrivenAt !== null,
    }));
    const keys = await this.book.findKeys(
      this.queue,
      names.flatMap((name) => [1, 2, 3, 4, 5].map((position) => `${name}${position}`)),
    );
    const places = new Map([...keys].map(([key, place]) => [key, this.name(place)]));
    return { lanes: this.lanes.map(described), heads, letters, places };
  }

  /** By their places: those of different lanes that one recovery buries have no order. */
  private async letters(): Promise<readonly DeadLetter[]> {
    const letters = await this.book.deadLetters(this.queue, { limit: 200 });
    return [...letters].sort((one, other) => byLane(one, other) || one.position - other.position);
  }

  private name<
    Place extends MessagePlace & { at?: number; ageMs?: number; segment?: number; headers?: DeadLetter["headers"] },
  >(place: Place) {
    const { at: _at, ageMs: _age, segment, headers, ...others } = place;
    const rest = headers === undefined ? others : { ...others, headers: withoutId(headers) };
    const lane = this.lanes.find(({ id }) => id === place.lane)?.lane;
    return { ...rest, lane, ...(segment === undefined ? {} : { segment: this.segments.indexOf(segment) }) };
  }

  private row(lane: number): LaneRow {
    return this.lanes.find((row) => row.lane === names[lane]) as LaneRow;
  }

  private async perform(act: QueueAct): Promise<unknown> {
    const { book, fence, queue } = this;
    switch (act.kind) {
      case "open":
        return (await book.openLanes(fence, queue, [this.named(act.lane)])).map(described);
      case "append":
        return (await book.append(fence, this.batchFor(act))) > 0 ? "some" : "none";
      case "claim":
        return await this.claim(act.lanes, act.limit);
      case "settle":
        return await this.settle(act);
      case "renew":
        return await book.renew(fence, [this.row(act.lane).id], 20_000);
      case "sweep":
        return (await book.sweep(fence, queue)).map(described).sort(byLane);
      case "rest":
        return await book.rest(fence, [this.row(act.lane).id]);
      case "pause":
        return described((await book.setPaused(queue, this.named(act.lane), act.paused)) as LaneRow);
      case "skip": {
        const outcome = await book.skip(queue, this.named(act.lane));
        return "lane" in outcome ? [outcome.kind, described(outcome.lane)] : outcome.kind;
      }
      case "takeSteered":
        return (await book.takeSteered(fence, await book.steered(queue))).map(described).sort(byLane);
      case "redrive":
        return await this.redrive(act.letter, act.lane);
      case "openSegment":
        this.segments.push(await book.openSegment(fence, queue));
        return "opened";
      case "dropSegments":
        return (await book.dropSegments(fence, queue, act.closedForMs)).map((segment) =>
          this.segments.indexOf(segment),
        );
      case "pass":
        return await this.harness.advance(act.ms);
      case "takeOver":
        return await this.takeOver();
      case "recover":
        return await this.recover(act.own);
      case "writeLate": {
        const late = { ...fence, epoch: this.player.fence(fence.epoch - 1n).epoch };
        return await book.append(late, this.batch([this.message(act.lane, this.row(act.lane).tail + 1)]));
      }
    }
  }

  private named(lane: number): { readonly stage: string; readonly lane: string } {
    return { stage: "in", lane: names[lane] as string };
  }

  private message(lane: number, position: number, keyed = false): NewMessage {
    const { id } = this.row(lane);
    const key = `${names[lane]}${position}`;
    this.placed.set(`${id} ${position}`, this.segments.at(-1) ?? 0);
    const headers = position % 2 === 0 ? { key } : null;
    return { lane: id, position, key: keyed ? key : null, headers, body: Buffer.from(key) };
  }

  private batch(messages: readonly NewMessage[], waking: readonly number[] = []): AppendBatch {
    return { queue: this.queue, segment: this.segments.at(-1) ?? 0, messages, waking };
  }

  private batchFor(act: QueueAct & { readonly kind: "append" }): AppendBatch {
    const { id, done, tail } = this.row(act.lane);
    const first = Math.max(done, tail + Math.min(act.skip, 0)) + 1 + Math.max(act.skip, 0);
    const places = Array.from({ length: act.count }, (_, index) => first + index);
    const messages = places
      .filter((position) => this.mayPlace(id, position, tail))
      .map((position) => this.message(act.lane, position, act.keyed));
    return this.batch(messages, act.waking ? [id] : []);
  }

  /** A place is given again only in its own segment, as by an append whose outcome was not known; none goes back to an older. */
  private mayPlace(lane: number, position: number, tail: number): boolean {
    const segment = this.segments.at(-1);
    const known = this.placed.get(`${lane} ${position}`) ?? segment;
    return position > tail || (known === segment && this.placed.get(`${lane} ${tail}`) === segment);
  }

  private async claim(lanes: readonly number[], limit: number): Promise<unknown> {
    this.claims += 1;
    const wishes = lanes.map((lane) => ({ lane: this.row(lane).id, limit }));
    const order = { queue: this.queue, claim: this.claims, leaseMs: 20_000, wishes };
    const found = await this.book.claim(this.fence, order);
    for (const { lane, position, segment } of found) {
      this.claimOf.set(lane, this.claims);
      this.claimedSegment.set(`${lane} ${position}`, segment);
    }
    return found.map((message) => this.name(message)).sort(byLane);
  }

  private async settle(act: QueueAct & { readonly kind: "settle" }): Promise<unknown> {
    // Those that were handed something, where there are any: else most of it would be refused.
    const claimed = act.lanes.filter((lane) => this.claimOf.has(this.row(lane).id));
    const settlements = (claimed.length > 0 ? claimed : act.lanes).map((lane) => {
      const { id, done: before } = this.row(lane);
      const claim = (this.claimOf.get(id) ?? 1_000_000) - act.behind;
      const done = before + act.progress;
      const doneSegment = act.progress > 0 ? (this.claimedSegment.get(`${id} ${done}`) ?? null) : null;
      return { lane: id, claim, done, doneSegment, keeps: act.keeps, head: act.head };
    });
    const produced = act.produces === null ? null : this.productOf(act.produces, act.collides);
    const gone = await this.book.settle(this.fence, settlements, produced);
    if (!act.keeps && gone.length === 0) for (const { lane } of settlements) this.claimOf.delete(lane);
    return gone.map((id) => this.name({ lane: id, position: 0 })).sort(byLane);
  }

  private productOf(lane: number, collides: boolean): AppendBatch {
    const { id, tail } = this.row(lane);
    const taken = collides && tail > 0 && this.mayPlace(id, tail, tail);
    return this.batch([this.message(lane, taken ? tail : tail + 1, true)]);
  }

  private async redrive(index: number, lane: number): Promise<unknown> {
    const letters = await this.letters();
    const letter = letters[index];
    if (letter === undefined) return "no letter";
    const { id, tail } = this.row(lane);
    // Now and then to the place that it was given before.
    const again = letter.redrivenTo !== null && tail % 2 === 0 && this.mayPlace(id, letter.redrivenTo, tail);
    const position = again ? (letter.redrivenTo ?? 0) : tail + 1;
    const segment = this.segments.at(-1) ?? 0;
    const order = { queue: this.queue, segment, letters: [{ id: letter.id, lane: id, position }], waking: [id] };
    const fitting = await this.book.redrive(this.fence, order);
    if (fitting.length > 0) this.placed.set(`${id} ${position}`, segment);
    return fitting.map((each) => letters.findIndex((one) => one.id === each));
  }

  private async takeOver(): Promise<unknown> {
    await this.player.release(this.fence.epoch);
    this.fence = this.player.fence(await this.player.lead());
    return await this.recover(false);
  }

  private async recover(own: boolean): Promise<unknown> {
    const { segment, lanes, reclaimed, quarantined } = await this.book.recover(this.fence, {
      queue: this.queue,
      maxReclaims,
      own,
    });
    if (!this.segments.includes(segment)) this.segments.push(segment);
    return {
      found: lanes.map(described).sort(byLane),
      segment: this.segments.indexOf(segment),
      reclaimed,
      quarantined,
    };
  }
}

function gistOf(outcome: unknown): string {
  if (Array.isArray(outcome) && typeof outcome[0] === "string") return outcome[0];
  if (Array.isArray(outcome)) return outcome.length === 0 ? "none" : "some";
  if (typeof outcome !== "object" || outcome === null) return String(outcome);
  return "quarantined" in outcome && outcome.quarantined !== 0 ? "quarantined" : "told";
}

/** Without its id, and of its times only whether it waits. */
function described({ id: _id, waitMs, ...row }: LaneRow) {
  return { ...row, waits: waitMs > 0 };
}

/** Each store has ids of its own. */
function withoutId(headers: DeadLetter["headers"]): DeadLetter["headers"] {
  return headers !== null && redrivenFrom in headers ? { ...headers, [redrivenFrom]: "a letter" } : headers;
}

function byLane(one: { readonly lane?: string | undefined }, other: { readonly lane?: string | undefined }): number {
  return (one.lane ?? "").localeCompare(other.lane ?? "");
}
