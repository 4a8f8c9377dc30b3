import type pg from "pg";
import { parseIntoClientConfig } from "pg-connection-string";
import { isLocalServer, parseDatabaseUrl } from "../../config/database-url.js";
import { HoldfastError } from "../../errors.js";
import { within } from "../../lifecycle/within.js";
import {
  type OutsideDatabase,
  OutsideFailure,
  type OutsideOptions,
  type OutsideParameter,
  type OutsideRow,
  type OutsideTransaction,
} from "../outside-contract.js";
import { GuardedClient } from "./guarded-client.js";
import { outsideValue } from "./outside-value.js";
import { streamOf } from "./session.js";
import { sqlStateOf } from "./sql-errors.js";

/** Everything comes as the server writes it, so that nothing is lost on the way: see outside-value.ts. */
const asText = { getTypeParser: () => (text: string) => text };

/** How much longer we wait than the server. */
const graceMs = 1_000;

const cursor = "holdfast_rows";

/** A PostgreSQL that is not ours. A connection that was idle is used again; one that was in trouble is not. */
export class PostgresOutside implements OutsideDatabase {
  private readonly config: pg.ClientConfig;
  private readonly options: OutsideOptions;
  private readonly idle: pg.Client[] = [];
  private readonly open = new Set<pg.Client>();
  private isClosed = false;

  constructor(options: OutsideOptions) {
    this.options = options;
    this.config = configOf(options);
  }

  async read(query: string, most: number): Promise<readonly OutsideRow[]> {
    return await this.withClient(async (client) => {
      // A cursor takes a query that reads, and no other: what claimed its rows by reading would lose them in a crash.
      await this.begun(client, "READ ONLY");
      await this.ask(client, `DECLARE ${cursor} NO SCROLL CURSOR FOR ${bare(query)}`);
      const { fields, rows } = await this.ask(client, `FETCH FORWARD ${most} FROM ${cursor}`);
      await this.ask(client, "COMMIT");
      const twice = fields.find(({ name }, at) => fields.findIndex((field) => field.name === name) !== at);
      if (twice !== undefined) {
        throw new OutsideFailure(
          "refused",
          `the query has two columns "${twice.name}": name one otherwise`,
          null,
          null,
        );
      }
      return rows.map((row) => new Map(fields.map((field, at) => [field.name, outsideValue(row[at] ?? null, field)])));
    });
  }

  async execute(statement: string, values: readonly OutsideParameter[]): Promise<number> {
    return await this.withClient(async (client) => (await this.ask(client, statement, values)).rowCount ?? 0);
  }

  async begin(): Promise<OutsideTransaction> {
    const client = await this.take();
    const orDrop = async <Result>(work: Promise<Result>): Promise<Result> => {
      try {
        return await work;
      } catch (error) {
        if (error instanceof OutsideFailure && error.kind !== "refused") this.drop(client);
        throw error;
      }
    };
    await orDrop(this.begun(client, "READ WRITE"));
    return {
      run: async (statement, values) => {
        await orDrop(this.ask(client, statement, values));
      },
      commit: async () => {
        await orDrop(this.commit(client));
        this.giveBack(client);
      },
      rollback: async () => {
        if (!this.open.has(client)) return;
        try {
          await this.ask(client, "ROLLBACK");
          this.giveBack(client);
        } catch {
          this.drop(client);
        }
      },
    };
  }

  async close(): Promise<void> {
    this.isClosed = true;
    for (const client of this.open) this.drop(client);
  }

  /** Only the word COMMIT means that it was done. */
  private async commit(client: pg.Client): Promise<void> {
    const { command } = await this.ask(client, "COMMIT", [], true);
    if (command !== "COMMIT") throw new OutsideFailure("refused", "it rolled back at the commit", null, null);
  }

  private async withClient<Result>(work: (client: pg.Client) => Promise<Result>): Promise<Result> {
    const client = await this.take();
    try {
      const result = await work(client);
      this.giveBack(client);
      return result;
    } catch (error) {
      // It may be inside a transaction, or out of step: another one costs less than finding out.
      this.drop(client);
      throw error;
    }
  }

  private async take(): Promise<pg.Client> {
    if (this.isClosed) throw new OutsideFailure("away", "the connection is closed", null, null);
    const kept = this.idle.pop();
    if (kept !== undefined) return kept;
    const client = new GuardedClient(this.config);
    this.open.add(client);
    client.on("error", () => this.drop(client));
    client.on("end", () => this.drop(client));
    try {
      const { connectTimeoutMs } = this.options;
      await within(2 * connectTimeoutMs, client.connect(), () => {
        throw new Error(`no connection within ${(2 * connectTimeoutMs) / 1_000} s`);
      });
      return client;
    } catch (error) {
      this.drop(client);
      throw new OutsideFailure("away", textOf(error), sqlStateOf(error), error);
    }
  }

  /** The limits are set in the transaction: as a start-up parameter a pooler would refuse them. */
  private async begun(client: pg.Client, access: "READ ONLY" | "READ WRITE"): Promise<void> {
    const ms = this.options.replyTimeoutMs;
    const limits = `SET LOCAL statement_timeout = ${ms}; SET LOCAL idle_in_transaction_session_timeout = ${ms}`;
    await this.answered(client.query(`BEGIN ${access}; ${limits}`), false);
  }

  private async ask(
    client: pg.Client,
    text: string,
    values: readonly OutsideParameter[] = [],
    isCommit = false,
  ): Promise<pg.QueryArrayResult<(string | null)[]>> {
    // The extended protocol takes one statement, whatever was written, and the parameters apart from it.
    const query = { text, values: [...values], rowMode: "array" as const, queryMode: "extended" };
    return await this.answered(client.query<(string | null)[]>(query), isCommit);
  }

  private async answered<Result>(asked: Promise<Result>, isCommit: boolean): Promise<Result> {
    const { replyTimeoutMs } = this.options;
    try {
      // The server gives up first, where it can: its own word is worth more than our patience.
      return await within(replyTimeoutMs + graceMs, asked, () => {
        throw new Error(`no answer within ${replyTimeoutMs / 1_000} s`);
      });
    } catch (error) {
      throw failureOf(error, isCommit);
    }
  }

  private giveBack(client: pg.Client): void {
    if (this.open.has(client) && !this.isClosed) this.idle.push(client);
    else this.drop(client);
  }

  private drop(client: pg.Client): void {
    if (!this.open.delete(client)) return;
    const at = this.idle.indexOf(client);
    if (at !== -1) this.idle.splice(at, 1);
    // Its requests end with an error then, whatever the server does.
    streamOf(client).destroy();
  }
}

/** Not encrypted only on this machine, or where the URL says so in as many words. */
function configOf({ url, connectTimeoutMs, name }: OutsideOptions): pg.ClientConfig {
  const parsed = parseDatabaseUrl(url);
  if (parsed === null) {
    throw new HoldfastError(
      "BAD_SETTINGS",
      "The URL of the database must begin with postgres:// (its value is not shown).",
    );
  }
  const ssl = parsed.sslmode === null && !isLocalServer(parsed.host) ? { ssl: { rejectUnauthorized: true } } : {};
  return {
    ...parseIntoClientConfig(url),
    ...ssl,
    connectionTimeoutMillis: connectTimeoutMs,
    application_name: name.slice(0, 63),
    keepAlive: true,
    types: asText,
  };
}

/** At a commit these say nothing of its outcome: the server ended the session, perhaps while it waited for a replica. */
const untold = /^(?:08|57P)|^40003$/;
/** Elsewhere they mean that the server is not there to be asked. */
const absent = /^(?:08|57P|53300$)/;

function failureOf(error: unknown, isCommit: boolean): OutsideFailure {
  const state = sqlStateOf(error);
  const said = state === null ? textOf(error) : `${textOf(error)} (${state})`;
  if (state === null) return new OutsideFailure(isCommit ? "unknown" : "away", said, null, error);
  if (isCommit && untold.test(state)) return new OutsideFailure("unknown", said, state, error);
  return new OutsideFailure(absent.test(state) ? "away" : "refused", said, state, error);
}

/** A cursor is declared for a query without its semicolon. */
const bare = (query: string): string => query.replace(/[\s;]+$/, "");

/** A connection that is refused at each address of a name has no message of its own, only a code. */
function textOf(error: unknown): string {
  const { message, code } = error as NodeJS.ErrnoException;
  return message || code || String(error);
}
