import type { Notice } from "../../election/core/messages.js";
import type { Role } from "../../election/core/names.js";
import type { ReapReport, SessionEvents, StoreNews, WitnessSession } from "../contract.js";
import { readHint, readNotice } from "./replies.js";
import { type ElectionClient, openElectionClient, type SessionOptions } from "./session.js";
import { toHoldfastError } from "./sql-errors.js";

export interface BlockerReport extends ReapReport {
  /** Prepared transactions in the way: only an operator can end them. */
  readonly prepared: number;
}

/** The second session of the process: as long as it lives, a lost lock session is no crash. It listens meanwhile. */
export class PostgresWitnessSession implements WitnessSession {
  readonly ref;
  readonly path;
  private readonly client: ElectionClient;
  private readonly schema: string;
  private readonly nodeId: string;

  private constructor(client: ElectionClient, schema: string, nodeId: string) {
    this.ref = client.ref;
    this.path = client.path;
    this.client = client;
    this.schema = schema;
    this.nodeId = nodeId;
  }

  static async open(
    options: SessionOptions & { readonly quotedSchema: string },
    events: SessionEvents & {
      notice(role: Role, notice: Notice): void;
      hint(kind: Exclude<StoreNews["kind"], "beat">): void;
    },
  ): Promise<PostgresWitnessSession> {
    const client = await openElectionClient(options, events);
    const schema = options.quotedSchema;
    try {
      client.onNotification((payload) => {
        const read = readNotice(payload);
        if (read !== null) return events.notice(read.role, read.notice);
        const kind = readHint(payload, options.nodeId);
        if (kind !== null) events.hint(kind);
      });
      const rows = await client.query<{ channel: string }>(`select channel from ${schema}.meta`);
      // A hash in hexadecimal: nothing to quote.
      await client.query(`listen ${rows[0]?.channel ?? ""}`);
      client.ready();
      return new PostgresWitnessSession(client, schema, options.nodeId);
    } catch (error) {
      client.close();
      throw toHoldfastError(error, "opening the witness session");
    }
  }

  async reap(roles: readonly Role[], nodeTimeoutMs: number): Promise<ReapReport> {
    if (roles.length === 0) {
      await this.client.query("select 1"); // A standby only wants to know that this session lives.
      return { ended: 0, refused: 0 };
    }
    const rows = await this.client.query<{ report: ReapReport }>(`select ${this.schema}.reap($1, $2, $3) as report`, [
      this.nodeId,
      roles,
      Math.ceil(nodeTimeoutMs),
    ]);
    return rows[0]?.report ?? { ended: 0, refused: 0 };
  }

  async endBlockers(role: Role, pid: number): Promise<BlockerReport> {
    const rows = await this.client.query<{ report: BlockerReport }>(
      `select ${this.schema}.end_blockers($1, $2) as report`,
      [role, pid],
    );
    return rows[0]?.report ?? { ended: 0, refused: 0, prepared: 0 };
  }

  close(): void {
    this.client.close();
  }
}
