import type { Json } from "../../jobs/core/job.js";
import {
  type ConnectionStanding,
  engineQueue,
  engineStages,
  type MessageAccount,
  type MessageRow,
  type MessageStatus,
  type MessageStep,
  messageIdHeader,
  type PendingPlace,
  type ReceivedAnswer,
} from "../engine-contract.js";
import { statusesOf, statusesOfAccount } from "../engine-status.js";
import type { StepKind } from "../journal.js";
import type { Questions } from "./questions.js";
import { type DeadLetterJson, readDeadLetter } from "./queue-rows.js";
import { queueStatements } from "./queue-statements.js";

/** How far into a lane that waits is looked for one message. */
const mostLookedThrough = 10_000;

/** What is known of single messages. */
export class EngineReading {
  private readonly questions: Questions;
  private readonly schema: string;

  constructor(questions: Questions) {
    this.questions = questions;
    this.schema = questions.schema;
  }

  /** These messages with their statuses, newest first. `asked`: the status that they were found by. */
  async rowsOf(ids: readonly number[], asked?: MessageStatus): Promise<readonly MessageRow[]> {
    if (ids.length === 0) return [];
    const { schema } = this;
    const rows = await this.questions.rows<MessageJson>(
      "reading messages",
      // Each by its id, whatever old statistics say: the ids of a page are few.
      `select e.id::text, ${schema}.ms_since_1970(e.received_at) as received_at, e.connection, e.type, e.control_id, e.size,
         e.replay_of::text, coalesce(l.done < e.position, false) as is_received,
         array(select s.kind from ${schema}.engine_steps s where s.id = e.id) as kinds,
         exists (
           select from ${schema}.dead_letters d
           where d.queue = '${engineQueue}' and ${schema}.journal_id(d.headers) = e.id and d.redriven_at is null) as is_in_error
       from ${schema}.engine_messages e left join ${schema}.lanes l on l.id = e.lane
       where e.id = any ($1) order by e.id desc`,
      [ids],
    );
    return rows.map((row) => readMessage(row, asked));
  }

  async account(id: string): Promise<MessageAccount | null> {
    if (!isMessageId(id)) return null;
    const [row] = await this.rowsOf([Number(id)]);
    if (row === undefined) return null;
    // Before what became of it: whoever sees that nothing waits any more also sees all that came of it.
    const pending = await this.pendingOf(id);
    const [steps, deadLetters, ack] = await Promise.all([
      this.stepsOf(id),
      this.lettersOf(id),
      this.questions.rows<{ ack: Buffer | null }>(
        "reading an answer",
        `select ack from ${this.schema}.engine_messages where id = $1`,
        [id],
      ),
    ]);
    const statuses = statusesOfAccount(row.statuses, steps, deadLetters);
    return { ...row, statuses, ack: ack[0]?.ack ?? null, steps, deadLetters, pending };
  }

  private async stepsOf(id: string): Promise<readonly MessageStep[]> {
    const { schema } = this;
    const rows = await this.questions.rows<StepJson>(
      "reading the steps of a message",
      `select kind, ${schema}.ms_since_1970(at) as at, stage, lane, position::text, detail
       from ${schema}.engine_steps where id = $1 order by at, stage, lane, position`,
      [id],
    );
    return rows.map(({ position, ...row }, index) => ({ ...row, position: Number(position), step: index + 1 }));
  }

  private async lettersOf(id: string) {
    const { schema } = this;
    const rows = await this.questions.rows<DeadLetterJson>(
      "reading the dead letters of a message",
      queueStatements(schema).lettersOfMessage,
      [id],
    );
    return rows.map(readDeadLetter);
  }

  private async pendingOf(id: string): Promise<readonly PendingPlace[]> {
    const { schema } = this;
    const rows = await this.questions.rows<{ stage: string; lane: string; position: string }>(
      "reading where a message waits",
      `select l.stage, l.name as lane, m.position::text from ${schema}.lanes l
       cross join lateral (
         select m.position, m.headers from ${schema}.messages m
         where m.lane = l.id and m.segment >= l.done_segment and m.position > l.done
         order by m.position limit ${mostLookedThrough}
       ) m
       where l.queue = '${engineQueue}' and l.busy and m.headers->>'${messageIdHeader}' = $1
       order by l.id, m.position`,
      [id],
    );
    return rows.map((row) => ({ ...row, position: Number(row.position) }));
  }

  /** From the queue; or from its dead letter, which outlives the segment. */
  async bodyOf(id: string): Promise<Buffer | null> {
    if (!isMessageId(id)) return null;
    return await this.bodyAt("e.lane = l.id and e.id = $1", `${this.schema}.engine_messages e`, [id]);
  }

  async sentBodyOf(id: string, step: number): Promise<Buffer | null> {
    if (!isMessageId(id)) return null;
    const sent = (await this.stepsOf(id)).find((one) => one.step === step);
    if (sent?.kind !== "sent") return null;
    const place = "(select $3::bigint as position) e";
    const named = `l.queue = '${engineQueue}' and l.stage = $1 and l.name = $2`;
    return await this.bodyAt(named, place, [sent.stage, sent.lane, sent.position]);
  }

  private async bodyAt(condition: string, place: string, values: readonly unknown[]): Promise<Buffer | null> {
    const { schema } = this;
    const [row] = await this.questions.rows<{ body: Buffer | null }>(
      "reading a body",
      `select coalesce(
         (select m.body from ${schema}.messages m where m.lane = l.id and m.position = e.position limit 1),
         (select d.body from ${schema}.dead_letters d
          where (d.queue, d.stage, d.lane, d.position) = (l.queue, l.stage, l.name, e.position) limit 1)) as body
       from ${place} join ${schema}.lanes l on ${condition}`,
      values,
    );
    return row?.body ?? null;
  }

  async ackOf({
    lane,
    position,
  }: {
    readonly lane: number;
    readonly position: number;
  }): Promise<ReceivedAnswer | null> {
    const { schema } = this;
    const [row] = await this.questions.rows<ReceivedAnswer>(
      "reading what was answered",
      `select e.id::text, e.ack from ${schema}.messages m
       join ${schema}.engine_messages e on e.id = ${schema}.journal_id(m.headers)
       where m.lane = $1 and m.position = $2`,
      [lane, position],
    );
    return row ?? null;
  }

  async standing(): Promise<readonly ConnectionStanding[]> {
    const { schema } = this;
    const rows = await this.questions.rows<StandingJson>(
      "counting messages",
      `with waiting as (
         select split_part(l.name, '/', 1) as connection,
           sum(${schema}.lane_tail(l) - l.done) filter (where l.stage = '${engineStages.ingress}') as received,
           sum(${schema}.lane_tail(l) - l.done) filter (where l.stage = '${engineStages.routed}') as routed
         from ${schema}.lanes l
         where l.queue = '${engineQueue}' and l.stage in ('${engineStages.ingress}', '${engineStages.routed}')
         group by 1
       ), failed as (
         select c.connection, count(*) as error from ${schema}.dead_letters d cross join lateral (values
           (d.headers->>'connection'),
           (case when d.stage = '${engineStages.outbound}' then split_part(d.lane, '/', 1) end)) c (connection)
         where d.queue = '${engineQueue}' and d.redriven_at is null and c.connection is not null
         group by 1
       )
       select connection, coalesce(received, 0)::text as received, coalesce(routed, 0)::text as routed,
         coalesce(error, 0)::text as error
       from waiting full join failed using (connection) order by connection collate "C"`,
    );
    return rows.map(({ connection, received, routed, error }) => ({
      connection,
      received: Number(received),
      routed: Number(routed),
      error: Number(error),
    }));
  }
}

/** Ids stay below 2^53. */
export const isMessageId = (id: string): boolean => /^\d{1,15}$/.test(id);

interface MessageJson {
  id: string;
  received_at: number;
  connection: string;
  type: string;
  control_id: string;
  size: number;
  replay_of: string | null;
  is_received: boolean;
  kinds: StepKind[];
  is_in_error: boolean;
}

function readMessage(row: MessageJson, asked: MessageStatus | undefined): MessageRow {
  const { received_at, control_id, replay_of, is_received, is_in_error, kinds, ...rest } = row;
  const statuses = statusesOf({ isReceived: is_received, isInError: is_in_error, kinds }, asked);
  return { ...rest, receivedAt: received_at, controlId: control_id, replayOf: replay_of, statuses };
}

interface StepJson {
  kind: StepKind;
  at: number;
  stage: string;
  lane: string;
  position: string;
  detail: Json;
}

interface StandingJson {
  connection: string;
  received: string;
  routed: string;
  error: string;
}
