import type { Json } from "../../jobs/core/job.js";
import type { ConnectionBook, ConnectionReport, ConnectionRow, Stopped } from "../connection-contract.js";
import type { FenceToken } from "../contract.js";
import { quoted, storable } from "./literal.js";
import type { Questions } from "./questions.js";
import type { FencedMessage } from "./queue-traffic.js";
import { toHoldfastError } from "./sql-errors.js";

interface StoredRow {
  readonly name: string;
  readonly stopped_by: string | null;
  readonly stopped_reason: string | null;
  readonly stopped_at: number | null;
  readonly state: Json;
  readonly epoch: string | null;
  readonly told_at: number | null;
}

/** The engine's connections on PostgreSQL (migrations/0006_engine.sql). */
export class PostgresConnectionBook implements ConnectionBook {
  private readonly questions: Questions;
  private readonly table: string;
  private readonly send: FencedMessage;

  constructor(questions: Questions, send: FencedMessage) {
    this.questions = questions;
    this.table = `${questions.schema}.engine_connections`;
    this.send = send;
  }

  async all(): Promise<readonly ConnectionRow[]> {
    const { schema } = this.questions;
    const rows = await this.questions.rows<StoredRow>(
      "reading the connections",
      `select name, stopped_by, stopped_reason, ${schema}.ms_since_1970(stopped_at) as stopped_at, state, epoch::text,
        ${schema}.ms_since_1970(told_at) as told_at
      from ${this.table} order by name`,
    );
    return rows.map(rowOf);
  }

  async setStopped(fence: FenceToken, name: string, stopped: Stopped | null): Promise<void> {
    const text = (value: string): string => quoted(storable(value));
    const [by, reason, at] =
      stopped === null ? ["null", "null", "null"] : [text(stopped.by), text(stopped.reason), "clock_timestamp()"];
    await this.write(fence, [
      `insert into ${this.table} as c (name, stopped_by, stopped_reason, stopped_at)
      values (${quoted(name)}, ${by}, ${reason}, ${at})
      on conflict (name) do update set
        stopped_by = excluded.stopped_by, stopped_reason = excluded.stopped_reason, stopped_at = excluded.stopped_at`,
    ]);
  }

  async tell(fence: FenceToken, reports: readonly ConnectionReport[]): Promise<void> {
    const told = quoted(storable(JSON.stringify(reports)));
    await this.write(fence, [
      // A loss of it is told again.
      "set local synchronous_commit = off",
      `insert into ${this.table} (name, state, epoch, told_at)
      select x.name, x.state, ${fence.epoch}, clock_timestamp()
      from json_to_recordset(${told}) x(name text, state json)
      on conflict (name) do update set state = excluded.state, epoch = excluded.epoch, told_at = excluded.told_at`,
      `delete from ${this.table} c where c.stopped_at is null
        and c.name not in (select x.name from json_to_recordset(${told}) x(name text))`,
    ]);
  }

  private async write(fence: FenceToken, statements: readonly string[]): Promise<void> {
    try {
      await this.send(fence, { statements });
    } catch (error) {
      throw toHoldfastError(error, "writing the connections");
    }
  }
}

function rowOf(row: StoredRow): ConnectionRow {
  const { name, state, epoch, stopped_by: by, stopped_reason: reason, stopped_at: at, told_at: toldAt } = row;
  return {
    name,
    stopped: by === null || at === null ? null : { by, reason: reason ?? "", at },
    state,
    epoch: epoch === null ? null : Number(epoch),
    toldAt,
  };
}
