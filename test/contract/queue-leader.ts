import type { FenceToken } from "../../src/store/fence-token.js";
import type {
  AppendBatch,
  LaneRow,
  NewMessage,
  QueueBook,
  Recovery,
  Settlement,
  StoredMessage,
} from "../../src/store/queue-contract.js";
import type { Player } from "./harness.js";

export const queue = "orders";

/** The leader of a queue as the store knows it: whatever the test tells it to do, under the epoch it was elected with. */
export class QueueLeader {
  readonly book: QueueBook;
  readonly fence: FenceToken;
  readonly recovery: Recovery;
  segment: number;

  private constructor(book: QueueBook, fence: FenceToken, recovery: Recovery) {
    this.book = book;
    this.fence = fence;
    this.recovery = recovery;
    this.segment = recovery.segment;
  }

  /** Elects the player, and has it recover the queue. */
  static async elect(player: Player, maxReclaims = 5): Promise<QueueLeader> {
    const fence = player.fence(await player.lead());
    const { queue: book } = player.store;
    return new QueueLeader(book, fence, await book.recover(fence, { queue, maxReclaims, own: false }));
  }

  /** Steps down in favour of nobody, then the other is elected. */
  static async succeed(from: Player, leader: QueueLeader, to: Player, maxReclaims = 5): Promise<QueueLeader> {
    await from.release(leader.fence.epoch);
    return await QueueLeader.elect(to, maxReclaims);
  }

  /** The id of this lane, which is made where it is not there. */
  async lane(name: string, stage = "in"): Promise<number> {
    const [row] = await this.book.openLanes(this.fence, queue, [{ stage, lane: name }]);
    return (row as LaneRow).id;
  }

  async row(lane: number): Promise<LaneRow> {
    return (await this.book.lanes(queue)).find(({ id }) => id === lane) as LaneRow;
  }

  batch(messages: readonly NewMessage[], waking: readonly number[] = []): AppendBatch {
    return { queue, segment: this.segment, messages, waking };
  }

  /** Takes these in behind the newest message of the lane. */
  async put(lane: number, ...bodies: readonly string[]): Promise<number> {
    const { tail } = await this.row(lane);
    const messages = bodies.map((body, index) => messageAt(lane, tail + 1 + index, body));
    return await this.book.append(this.fence, this.batch(messages));
  }

  async claim(
    claim: number,
    lanes: readonly number[],
    limit = 100,
    leaseMs = 60_000,
  ): Promise<readonly StoredMessage[]> {
    const wishes = lanes.map((lane) => ({ lane, limit }));
    return await this.book.claim(this.fence, { queue, claim, leaseMs, wishes });
  }

  /** What a claim hands out, as text. */
  async take(claim: number, lanes: readonly number[], limit = 100): Promise<readonly string[]> {
    return (await this.claim(claim, lanes, limit)).map(({ body }) => body.toString());
  }

  async settle(...settlements: readonly Settlement[]): Promise<readonly number[]> {
    return await this.book.settle(this.fence, settlements, null);
  }
}

export function messageAt(lane: number, position: number, body: string, key: string | null = null): NewMessage {
  return { lane, position, key, headers: null, body: Buffer.from(body) };
}

/** Finished up to `done`, and the rest of the claim given back, unless said otherwise. */
export function settlement(
  lane: number,
  claim: number,
  done: number,
  rest: Partial<Pick<Settlement, "doneSegment" | "keeps" | "head">> = {},
): Settlement {
  return { lane, claim, done, doneSegment: null, keeps: false, head: { kind: "ready" }, ...rest };
}

/** Everything about the queue that its book shows. */
export async function stateOf(book: QueueBook): Promise<unknown> {
  const lanes = await book.lanes(queue);
  const heads = await Promise.all(lanes.map(async ({ id }) => await book.peek(id, 100)));
  const letters = await book.deadLetters(queue, { limit: 100 });
  return { lanes: lanes.map(({ waitMs, ...lane }) => ({ ...lane, waits: waitMs > 0 })), heads, letters };
}
