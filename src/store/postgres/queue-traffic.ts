import pg from "pg";
import { HoldfastError } from "../../errors.js";
import type { FenceToken } from "../contract.js";
import type { SettledJournal } from "../journal.js";
import type { AppendBatch, ClaimOrder, Settlement, StoredMessage } from "../queue-contract.js";
import { receivedStatements, settledStatements } from "./engine-journal.js";
import type { MessageReply, TransactionMessage } from "./fenced-message.js";
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
    const { schema } = this;
    const lanes = arrayOf(wishes.map(({ lane }) => lane));
    const limits = arrayOf(wishes.map(({ limit }) => limit));
    const bytes = Math.floor(claimBytes / Math.max(1, wishes.length));
    // The contiguous prefix of each lane, by the index on (lane, position), from what the row says is finished. Whoever has
    // something in flight, is paused or blocked gets nothing: a head that waits holds its lane.
    const statement = `
      copy (
        with free as (
          select l.id, l.done, l.done_segment, w.most
          from unnest(${lanes}::bigint[], ${limits}::integer[]) w(id, most) join ${schema}.lanes l using (id)
          where l.claimed = l.done and not l.paused and not l.blocked
            and (l.wait_until is null or l.wait_until <= clock_timestamp())
        ), found as (
          select f.id as lane, m.* from free f cross join lateral (
            select
              max(m.position) as last,
              json_build_array(
                min(m.position), array_agg(octet_length(m.body) order by m.position), array_agg(m.segment order by m.position),
                array_agg(floor(date_part('epoch', m.at) * 1000)::bigint order by m.position),
                case when bool_or(m.key is not null or m.headers is not null)
                  then json_agg(json_build_array(m.key, m.headers) order by m.position) end,
                floor(date_part('epoch', clock_timestamp()) * 1000)::bigint)::text as described,
              string_agg(m.body, ''::bytea order by m.position) as bodies
            from (
              select
                m.*, row_number() over (order by m.position) as place,
                sum(octet_length(m.body)) over (order by m.position) as bytes
              from ${schema}.messages m
              where m.lane = f.id and m.segment >= f.done_segment and m.position between f.done + 1 and f.done + f.most
            ) m
            where m.position = f.done + m.place -- Never past a gap: a lane that has one stands still.
              and (m.place = 1 or m.bytes <= ${bytes})
          ) m
          where m.last is not null
        ), claimed as (
          update ${schema}.lanes l set
            claimed = x.last, claim = ${claim}, claim_epoch = ${fence.epoch}, wait_until = null,
            leased_until = clock_timestamp() + ${Math.ceil(leaseMs)} * interval '1 millisecond'
          from found x where l.id = x.lane
        )
        select lane, described, bodies from found order by lane
      ) to stdout (format binary)`;
    // Lost with the server, a claim is found in no lane, and nothing was handed out by a process that is still there.
    const { copied } = await this.send(fence, {
      // Each lane and its messages are found by their keys, whatever old statistics make the planner believe.
      statements: ["set local synchronous_commit = off", "set local enable_seqscan = off", statement],
    });
    return readClaimed(copied);
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
    const settle = `select ${this.settling(sorted, fence.epoch, isWhole)} as gone`;
    // Lost with the server, it is done again: delivery is at least once. What was produced is another matter.
    const appended =
      produced === null || produced.messages.length === 0
        ? { statements: ["set local synchronous_commit = off"] }
        : this.appending(fence, produced);
    try {
      const told = journal === undefined ? [] : settledStatements(this.schema, journal);
      const statements = [settle, ...appended.statements, ...told];
      const { results } = await this.send(fence, { ...appended, statements });
      const rows = results.flatMap((result) => result.rows as { gone?: readonly number[] }[]);
      return rows[0]?.gone ?? [];
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
      return `${schema}.settle_lanes(${literal(JSON.stringify(settlements.map(toRecord)))}, ${epoch}, ${isWhole})`;
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
             select ${literal(queue)}, ${segment}, x.key, x.lane, x.position
             from json_to_recordset(${literal(JSON.stringify(keyed))}) x(key text, lane bigint, position bigint)
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

const arrayOf = (numbers: readonly number[]): string => `'{${numbers.join(",")}}'`;

const literal = (text: string): string => pg.escapeLiteral(text);

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
