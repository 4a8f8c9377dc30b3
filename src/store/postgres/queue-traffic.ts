import type pg from "pg";
import { HoldfastError } from "../../errors.js";
import type { FenceToken } from "../contract.js";
import type { SettledJournal } from "../journal.js";
import type { AppendBatch, ClaimOrder, ClaimWish, Settlement, StoredMessage } from "../queue-contract.js";
import { receivedStatements, settledStatements } from "./engine-journal.js";
import type { MessageReply, TransactionMessage } from "./fenced-message.js";
import { quoted } from "./literal.js";
import { messageColumns, packMessages, readClaimed } from "./queue-wire.js";
import { sqlState, sqlStateOf } from "./sql-errors.js";

export type FencedMessage = (fence: FenceToken, message: TransactionMessage) => Promise<MessageReply>;

/** How much of one claim's bodies comes at a time, if the first message of each lane leaves room for it. */
const claimBytes = 8 * 1_048_576;

/** What happens to messages all the time: each is one transaction in one message, for many lanes at once. */
export class QueueTraffic {
  private readonly schema: string;
  private readonly send: FencedMessage;

  constructor(schema: string, send: FencedMessage) {
    this.schema = schema;
    this.send = send;
  }

  /** All of them, or none where a place is taken. */
  async append(fence: FenceToken, batch: AppendBatch): Promise<number> {
    const { messages } = batch;
    try {
      await this.send(fence, messages.length === 0 ? { statements: [] } : this.appending(fence, batch));
      return messages.length;
    } catch (error) {
      if (sqlStateOf(error) !== sqlState.uniqueViolation) throw error;
      // Whoever was deposed is told that: what is in its place may be another's, and is no proof that this was taken in.
      await this.send(fence, { statements: [] });
      return 0;
    }
  }

  async claim(fence: FenceToken, { claim, leaseMs, wishes }: ClaimOrder): Promise<readonly StoredMessage[]> {
    const by = `${claim}, ${fence.epoch}, ${Math.ceil(leaseMs)}`;
    const known = wishes.filter(isKnown).sort((one, other) => one.lane - other.lane);
    const unknown = wishes.filter((wish) => !isKnown(wish));
    // Lost with the server, a claim is found in no lane, and nothing was handed out by a process that is still there.
    const { copied, results } = await this.send(fence, {
      statements: [
        "set local synchronous_commit = off",
        ...(known.length === 0 ? [] : [this.claimingKnown(known, by)]),
        ...(unknown.length === 0 ? [] : [this.claiming(unknown, by)]),
      ],
    });
    const lanes = new Set(known.length === 0 ? [] : rowsOf<{ claimed: readonly number[] }>(results)[0]?.claimed);
    return [...known.filter(({ lane }) => lanes.has(lane)).flatMap((wish) => wish.known), ...readClaimed(copied)];
  }

  private claiming(wishes: readonly ClaimWish[], by: string): string {
    const [lanes, limits] = [arrayOf(wishes.map(({ lane }) => lane)), arrayOf(wishes.map(({ limit }) => limit))];
    const bytes = Math.floor(claimBytes / Math.max(1, wishes.length));
    const claimed = `${this.schema}.claim_lanes(${lanes}, ${limits}, ${bytes}, ${by})`;
    return `copy (select lane, described, bodies from ${claimed}) to stdout (format binary)`;
  }

  private claimingKnown(wishes: readonly KnownWish[], by: string): string {
    const first = wishes.map(({ known }) => known[0]?.position ?? 0);
    const lanes = arrayOf(wishes.map(({ lane }) => lane));
    const done = arrayOf(first.map((position) => position - 1));
    const last = arrayOf(wishes.map(({ known }, index) => (first[index] ?? 0) + known.length - 1));
    return `select ${this.schema}.claim_known(${lanes}, ${done}, ${last}, ${by}) as claimed`;
  }

  /** Answers with the lanes whose claim is another by now. Where something comes with it, it is then as if nothing had been. */
  async settle(
    fence: FenceToken,
    settlements: readonly Settlement[],
    produced: AppendBatch | null,
    journal: SettledJournal | undefined,
  ) {
    const isWhole = produced !== null || journal !== undefined;
    // In the order of their ids, in which everybody locks lanes.
    const sorted = [...settlements].sort((one, other) => one.lane - other.lane);
    const settled = settledStatements(this.schema, this.settling(sorted, fence.epoch, isWhole), journal);
    // Lost with the server, it is done again: delivery is at least once. What was produced is another matter.
    const appended =
      produced === null || produced.messages.length === 0
        ? { statements: ["set local synchronous_commit = off"] }
        : this.appending(fence, produced);
    try {
      const statements = [...settled, ...appended.statements];
      const { results } = await this.send(fence, { ...appended, statements });
      return rowsOf<{ gone?: readonly number[] }>(results)[0]?.gone ?? [];
    } catch (error) {
      const { cause } = error as { cause?: unknown };
      const arePlacesTaken = sqlStateOf(error) === sqlState.uniqueViolation;
      if (!arePlacesTaken && sqlStateOf(cause) !== sqlState.claimGone) throw error;
      // Whoever was deposed is told that, and not what it would have found.
      await this.send(fence, { statements: [] });
      if (arePlacesTaken) throw placesTaken();
      return JSON.parse((cause as pg.DatabaseError).detail ?? "[]") as readonly number[];
    }
  }

  private settling(settlements: readonly Settlement[], epoch: bigint, isWhole: boolean): string {
    const { schema } = this;
    if (!settlements.every(isProgress)) {
      return `${schema}.settle_lanes(${quoted(JSON.stringify(settlements.map(toRecord)))}, ${epoch}, ${isWhole})`;
    }
    const columns = (["lane", "claim", "done", "doneSegment"] as const).map((name) =>
      arrayOf(settlements.map((settlement) => settlement[name] ?? 0)),
    );
    return `${schema}.settle_progress(${columns.join(", ")}, ${epoch}, ${isWhole})`;
  }

  private appending(fence: FenceToken, { queue, segment, messages, waking, journal }: AppendBatch) {
    const { schema } = this;
    const keyed = messages
      .filter(({ key }) => key !== null)
      .map(({ key, lane, position }) => ({ key, lane, position }));
    const statements = [
      // G4, R2: inside the transaction, or a setting of the role or the database would win.
      "set local synchronous_commit = on",
      `copy ${schema}.messages (${messageColumns}) from stdin (format binary)`,
      ...(keyed.length === 0
        ? []
        : [
            `insert into ${schema}.message_keys (queue, segment, key, lane, position)
             select ${quoted(queue)}, ${segment}, x.key, x.lane, x.position
             from json_to_recordset(${quoted(JSON.stringify(keyed))}) x(key text, lane bigint, position bigint)
             on conflict do nothing`,
          ]),
      ...(waking.length === 0 ? [] : [`update ${schema}.lanes set busy = true where id = any (${arrayOf(waking)})`]),
      ...(journal === undefined ? [] : receivedStatements(schema, segment, journal)),
    ];
    return { statements, copyIn: packMessages(messages, segment, fence.epoch) };
  }
}

export function placesTaken(): HoldfastError {
  return new HoldfastError("REFUSED", "Messages were to go where others are: nothing was taken in.");
}

type KnownWish = ClaimWish & { readonly known: readonly StoredMessage[] };

const isKnown = (wish: ClaimWish): wish is KnownWish => wish.known !== undefined && wish.known.length > 0;

const rowsOf = <Row>(results: readonly pg.QueryResult[]): readonly Row[] =>
  results.flatMap(({ rows }) => rows as Row[]);

const arrayOf = (numbers: readonly number[]): string => `'{${numbers.join(",")}}'`;

/** It got further, and is still worked on. */
const isProgress = ({ head, keeps, doneSegment }: Settlement): boolean =>
  head.kind === "ready" && keeps && doneSegment !== null;

function toRecord({ lane, claim, done, doneSegment, keeps, head }: Settlement) {
  const told = { lane, claim, done, segment: doneSegment, keeps };
  if (head.kind === "ready") return told;
  if (head.kind === "delayed") return { ...told, wait_ms: Math.ceil(head.waitMs) };
  const { kind, attempts, error } = head;
  return {
    ...told,
    attempts,
    error: storable(error),
    wait_ms: kind === "retry" ? Math.ceil(head.waitMs) : null,
    blocked: kind === "blocked",
    dead: kind === "dead",
  };
}

/** What a handler threw may hold anything; a text of the database holds no zero and no half of a character. */
const storable = (error: string): string => Buffer.from(error).toString().replaceAll("\0", "\uFFFD");
