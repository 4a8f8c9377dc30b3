import type pg from "pg";
import type { FenceToken, Page } from "../contract.js";
import type { SettledJournal } from "../journal.js";
import {
  type AppendBatch,
  type ClaimOrder,
  type LaneName,
  type LaneRow,
  type LetterWish,
  type QueueBook,
  type RecoverOrder,
  type Recovery,
  type RedriveOrder,
  redrivenFrom,
  type Settlement,
  type SkipOutcome,
  type StoredMessage,
} from "../queue-contract.js";
import { ownedByAnother } from "../queue-owner.js";
import type { Questions } from "./questions.js";
import {
  type DeadLetterJson,
  type LaneJson,
  type MessageJson,
  readDeadLetter,
  readHead,
  readLane,
} from "./queue-rows.js";
import { queueStatements } from "./queue-statements.js";
import { type FencedMessage, placesTaken, QueueTraffic } from "./queue-traffic.js";
import { toHoldfastError } from "./sql-errors.js";

type Fenced = <Result>(fence: FenceToken, fn: (tx: pg.ClientBase) => Promise<Result>) => Promise<Result>;

/** The queue on PostgreSQL: a few statements, each for many lanes at once, and each write under its epoch's fence. */
export class PostgresQueueBook implements QueueBook {
  private readonly questions: Questions;
  private readonly fenced: Fenced;
  private readonly traffic: QueueTraffic;
  private readonly sql: ReturnType<typeof queueStatements>;

  constructor(questions: Questions, fenced: Fenced, send: FencedMessage) {
    this.questions = questions;
    this.fenced = (fence, fn) => write(fenced, fence, fn);
    this.sql = queueStatements(questions.schema);
    this.traffic = new QueueTraffic(questions.schema, send);
  }

  async recover(fence: FenceToken, { queue, maxReclaims, own }: RecoverOrder): Promise<Recovery> {
    return await this.fenced(fence, async (tx) => {
      const values = [queue, fence.role, fence.epoch.toString(), maxReclaims, own];
      const { rows } = await tx.query<{ found: RecoveryJson }>(this.sql.recover, values);
      const { role, segment, reclaimed, quarantined } = (rows[0] as { found: RecoveryJson }).found;
      if (role !== fence.role) throw ownedByAnother(queue, role, fence.role);
      const open = segment ?? (await openSegment(tx, this.sql.openSegment, queue));
      const busy = await tx.query<{ lane: LaneJson }>(this.sql.busyLanes, [queue]);
      return { segment: open, lanes: busy.rows.map(({ lane }) => readLane(lane)), reclaimed, quarantined };
    });
  }

  async openLanes(fence: FenceToken, queue: string, lanes: readonly LaneName[], segment = 0) {
    return await this.fenced(fence, async (tx) => {
      const { rows } = await tx.query<{ lane: LaneJson }>(this.sql.openLanes, [
        queue,
        lanes.map(({ stage }) => stage),
        lanes.map(({ lane }) => lane),
        segment,
      ]);
      return rows.map(({ lane }) => readLane(lane));
    });
  }

  async append(fence: FenceToken, batch: AppendBatch): Promise<number> {
    return await named(this.traffic.append(fence, batch));
  }

  async findKeys(queue: string, keys: readonly string[]) {
    const rows = await this.questions.rows<{ key: string; lane: string; position: string }>(
      "looking for messages by their keys",
      this.sql.findKeys,
      [queue, keys],
    );
    return new Map(rows.map(({ key, lane, position }) => [key, { lane: Number(lane), position: Number(position) }]));
  }

  async claim(fence: FenceToken, order: ClaimOrder): Promise<readonly StoredMessage[]> {
    return await named(this.traffic.claim(fence, order));
  }

  async settle(
    fence: FenceToken,
    settlements: readonly Settlement[],
    produced: AppendBatch | null,
    journal?: SettledJournal,
  ) {
    return await named(this.traffic.settle(fence, settlements, produced, journal));
  }

  async renew(fence: FenceToken, lanes: readonly number[], leaseMs: number): Promise<void> {
    await this.fenced(
      fence,
      async (tx) => await tx.query(this.sql.renew, [lanes, Math.ceil(leaseMs), fence.epoch.toString()]),
    );
  }

  async sweep(fence: FenceToken, queue: string) {
    return await this.fenced(fence, async (tx) => {
      const { rows } = await tx.query<{ lane: LaneJson }>(this.sql.sweep, [queue]);
      return rows.map(({ lane }) => readLane(lane));
    });
  }

  async rest(fence: FenceToken, lanes: readonly number[]): Promise<void> {
    await this.fenced(fence, async (tx) => await tx.query(this.sql.rest, [lanes]));
  }

  async setPaused(queue: string, { stage, lane }: LaneName, paused: boolean) {
    const rows = await this.questions.rows<{ lane: LaneJson }>("pausing a lane", this.sql.setPaused, [
      queue,
      stage,
      lane,
      paused,
    ]);
    return rows[0] === undefined ? null : readLane(rows[0].lane);
  }

  async skip(queue: string, { stage, lane }: LaneName): Promise<SkipOutcome> {
    type Answer = { skipped: boolean; lane: LaneJson } | null;
    const rows = await this.questions.rows<{ answer: Answer }>("skipping a head", this.sql.skip, [queue, stage, lane]);
    const answer = rows[0]?.answer ?? null;
    if (answer === null) return { kind: "no_lane" };
    return { kind: answer.skipped ? "skipped" : "not_blocked", lane: readLane(answer.lane) };
  }

  async steered(queue: string) {
    const rows = await this.questions.rows<{ id: string }>("looking for steered lanes", this.sql.steered, [queue]);
    return rows.map(({ id }) => Number(id));
  }

  async takeSteered(fence: FenceToken, lanes: readonly number[]): Promise<readonly LaneRow[]> {
    return await this.fenced(fence, async (tx) => {
      const { rows } = await tx.query<{ lane: LaneJson }>(this.sql.takeSteered, [lanes]);
      return rows.map(({ lane }) => readLane(lane));
    });
  }

  async lanes(queue: string) {
    const rows = await this.questions.rows<{ lane: LaneJson }>("reading the lanes", this.sql.lanes, [queue]);
    return rows.map(({ lane }) => readLane(lane));
  }

  async peek(lane: number, limit: number) {
    const rows = await this.questions.rows<MessageJson & { size: number }>("peeking into a lane", this.sql.peek, [
      lane,
      limit,
    ]);
    return rows.map(readHead);
  }

  async deadLetters(queue: string, { limit, before }: Page) {
    const rows = await this.questions.rows<DeadLetterJson>("reading the dead letters", this.sql.deadLetters, [
      queue,
      before ?? null,
      limit,
    ]);
    return rows.map(readDeadLetter);
  }

  async deadLetter(queue: string, id: string) {
    if (!isLetterId(id)) return null;
    const rows = await this.questions.rows<DeadLetterJson & { body: Buffer }>(
      "reading a dead letter",
      this.sql.deadLetter,
      [queue, id],
    );
    const row = rows[0];
    return row === undefined ? null : { ...readDeadLetter(row), body: row.body };
  }

  async letters(queue: string, { ids, stage, lane, limit }: LetterWish) {
    const values = [queue, ids?.filter(isLetterId) ?? null, stage ?? null, lane ?? null, limit];
    const rows = await this.questions.rows<DeadLetterJson>("reading dead letters", this.sql.letters, values);
    return rows.map(readDeadLetter);
  }

  async redrive(fence: FenceToken, { queue, segment, letters, waking }: RedriveOrder): Promise<readonly string[]> {
    const known = letters.filter(({ id }) => isLetterId(id));
    const places = [known.map(({ id }) => id), known.map(({ lane }) => lane), known.map(({ position }) => position)];
    return await this.fenced(fence, async (tx) => {
      // G4, R2: as for whatever is taken in.
      await tx.query("set local synchronous_commit = on");
      const { rows } = await tx.query<{ id: string }>(this.sql.markRedriven, [...places, queue]);
      const fitting = rows.map(({ id }) => id);
      if (fitting.length < letters.length) throw new Undone(fitting);
      await tx.query(this.sql.appendLetters, [...places, segment, fence.epoch.toString(), redrivenFrom]);
      const { rowCount } = await tx.query(this.sql.placedLetters, [...places, redrivenFrom]);
      if (rowCount !== letters.length) throw placesTaken();
      for (const keys of [this.sql.moveKeys, this.sql.addKeys]) await tx.query(keys, [...places, segment]);
      if (waking.length > 0) await tx.query(this.sql.wake, [waking]);
      return fitting;
    });
  }

  async openSegment(fence: FenceToken, queue: string): Promise<number> {
    return await this.fenced(fence, async (tx) => await openSegment(tx, this.sql.openSegment, queue));
  }

  async dropSegments(fence: FenceToken, queue: string, closedForMs: number): Promise<readonly number[]> {
    const dropped: number[] = [];
    for (;;) {
      const segment = await this.fenced(fence, async (tx) => {
        const { rows } = await tx.query<{ dropped: number | null }>(this.sql.dropSegments, [
          queue,
          Math.ceil(closedForMs),
        ]);
        return rows[0]?.dropped ?? null;
      });
      if (segment === null) return dropped;
      dropped.push(segment);
    }
  }
}

async function named<Result>(asked: Promise<Result>): Promise<Result> {
  try {
    return await asked;
  } catch (error) {
    throw toHoldfastError(error, "writing to the queue");
  }
}

/** Ends a transaction so that nothing of it is left, with an answer. */
class Undone extends Error {
  readonly answer: unknown;

  constructor(answer: unknown) {
    super("nothing was written");
    this.answer = answer;
  }
}

async function write<Result>(
  fenced: Fenced,
  fence: FenceToken,
  fn: (tx: pg.ClientBase) => Promise<Result>,
): Promise<Result> {
  try {
    return await fenced(fence, fn);
  } catch (error) {
    if (!(error instanceof Undone)) throw toHoldfastError(error, "writing to the queue");
    // Whoever was deposed is told that, and not what it would have found.
    await write(fenced, fence, async () => await Promise.resolve());
    return error.answer as Result;
  }
}

const isLetterId = (id: string): boolean => /^\d{1,18}$/.test(id);

interface RecoveryJson {
  readonly role: string;
  readonly segment: number | null;
  readonly reclaimed: number;
  readonly quarantined: number;
}

async function openSegment(tx: pg.ClientBase, text: string, queue: string): Promise<number> {
  const { rows } = await tx.query<{ segment: number }>(text, [queue]);
  return rows[0]?.segment ?? 0;
}
