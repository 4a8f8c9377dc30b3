import { engineQueue, type MessageFilter, type MessageStatus } from "../../src/store/engine-contract.js";
import type { FenceToken } from "../../src/store/fence-token.js";
import type { ReceivedLine, SettledJournal, StepLine } from "../../src/store/journal.js";
import type { AppendBatch, LaneRow, NewMessage, Settlement } from "../../src/store/queue-contract.js";
import type { Player } from "./harness.js";

export interface Arriving {
  readonly connection?: string;
  readonly type?: string;
  readonly controlId?: string;
  readonly body?: string | Buffer;
  readonly key?: string;
  readonly ack?: string;
  readonly replayOf?: number;
}

/** The leader of the engine as the store knows it: it numbers what it takes in, and tells what became of it. */
export class EngineLeader {
  readonly player: Player;
  readonly fence: FenceToken;
  segment = 0;
  nextId = 0;
  private claims = 0;

  private constructor(player: Player, fence: FenceToken) {
    this.player = player;
    this.fence = fence;
  }

  static async elect(player: Player): Promise<EngineLeader> {
    const leader = new EngineLeader(player, player.fence(await player.lead()));
    const order = { queue: engineQueue, maxReclaims: 5, own: false };
    leader.segment = (await player.store.queue.recover(leader.fence, order)).segment;
    leader.nextId = (await player.store.engine.nextMessageId(leader.fence)).next;
    return leader;
  }

  get book() {
    return this.player.store.engine;
  }

  get queue() {
    return this.player.store.queue;
  }

  async lane(stage: string, name: string): Promise<LaneRow> {
    const [row] = await this.queue.openLanes(this.fence, engineQueue, [{ stage, lane: name }]);
    return row as LaneRow;
  }

  /** What takes these in, each at the end of its ingress lane. */
  async batchOf(arriving: readonly Arriving[]): Promise<AppendBatch & { readonly journal: readonly ReceivedLine[] }> {
    const messages: NewMessage[] = [];
    const journal: ReceivedLine[] = [];
    for (const one of arriving) {
      const { connection = "adt-in", type = "ADT^A01", controlId = "1", body = "MSH|", key = null, ack } = one;
      const row = await this.lane("ingress", connection.replaceAll("\0", "0").slice(0, 50));
      const position = row.tail + 1 + messages.filter(({ lane }) => lane === row.id).length;
      const id = this.nextId++;
      const bytes = Buffer.from(body as string);
      const place = { lane: row.id, position };
      messages.push({ ...place, key, headers: { id: `${id}`, connection: row.lane }, body: bytes });
      const answer = ack === undefined ? null : Buffer.from(ack);
      const line = { id, connection, type, controlId, size: bytes.length, ack: answer, replayOf: one.replayOf ?? null };
      journal.push({ ...line, ...place });
    }
    return { queue: engineQueue, segment: this.segment, messages, waking: [], journal };
  }

  /** Answers with their ids. */
  async receive(...arriving: readonly Arriving[]): Promise<readonly string[]> {
    const batch = await this.batchOf(arriving);
    await this.queue.append(this.fence, batch);
    return batch.journal.map(({ id }) => `${id}`);
  }

  /** Hands the head of a lane out and finishes it, with what there is to tell of it. */
  async finish(
    stage: string,
    name: string,
    rest: { journal?: SettledJournal; head?: Settlement["head"]; produced?: readonly Produced[] } = {},
  ): Promise<readonly number[]> {
    const { id, done } = await this.lane(stage, name);
    this.claims += 1;
    const wishes = [{ lane: id, limit: 1 }];
    await this.queue.claim(this.fence, { queue: engineQueue, claim: this.claims, leaseMs: 60_000, wishes });
    const { head = { kind: "ready" } as const, journal } = rest;
    const finished = head.kind === "ready" ? done + 1 : done;
    const settlement = { lane: id, claim: this.claims, done: finished, doneSegment: this.segment, keeps: false, head };
    return await this.queue.settle(this.fence, [settlement], await this.producedBatch(rest.produced ?? []), journal);
  }

  private async producedBatch(produced: readonly Produced[]): Promise<AppendBatch | null> {
    if (produced.length === 0) return null;
    const messages: NewMessage[] = [];
    for (const { stage, lane: name, id, body } of produced) {
      const { id: lane, tail } = await this.lane(stage, name);
      messages.push({
        lane,
        position: tail + 1,
        key: null,
        headers: { id, connection: "adt-in" },
        body: Buffer.from(body),
      });
    }
    return { queue: engineQueue, segment: this.segment, messages, waking: [] };
  }

  /** The ids of all that is found, newest first, however many pages it comes in. */
  async found(filter: MessageFilter, limit = 100): Promise<readonly string[]> {
    const ids: string[] = [];
    for (let next: string | null | undefined; next !== null; ) {
      const page = await this.book.search(filter, { limit, ...(next === undefined ? {} : { before: next }) });
      ids.push(...page.items.map(({ id }) => id));
      next = page.next;
    }
    return ids;
  }

  async statuses(id: string): Promise<readonly MessageStatus[] | undefined> {
    return (await this.book.message(id))?.statuses;
  }
}

interface Produced {
  readonly stage: string;
  readonly lane: string;
  readonly id: string;
  readonly body: string;
}

export function step(id: string, kind: StepLine["kind"], rest: Partial<StepLine> = {}): SettledJournal {
  const line: StepLine = { id: Number(id), kind, stage: "ingress", lane: "adt-in", position: 1, detail: null, ...rest };
  return { steps: [line], state: [] };
}

export function keeps(namespace: string, key: string, value: SettledJournal["state"][number]["value"]): SettledJournal {
  return { steps: [], state: [{ namespace, key, value }] };
}
