import type { WrittenDuration } from "../../transport-options.js";
import { Fields } from "../setting-fields.js";
import type { Checked } from "../transport.js";
import { messageParameter } from "./message-parameters.js";
import { type NamedStatement, namedStatement } from "./named-parameters.js";

interface ReachOptions {
  /** The variable that holds the database's URL: postgres://... */
  readonly urlFrom: string;
  /** "10s" by default. */
  readonly connectTimeout?: WrittenDuration | undefined;
  /** How long a statement may take; "30s" by default. */
  readonly replyTimeout?: WrittenDuration | undefined;
}

/** Rows that are taken from a database, as a config module writes it. */
export interface DatabaseInboundOptions extends ReachOptions {
  readonly kind: "database";
  /** Answers the rows that are not marked, oldest first. It only reads. */
  readonly query: string;
  /** The column by which a row is known again. */
  readonly key: string;
  /** The column that is the message; by default the whole row is, as JSON. */
  readonly body?: string | undefined;
  /** Marks a row that was taken in, so that the query answers it no more: `:name` is the column of that name. */
  readonly done: string;
  /** Marks a row that cannot be taken in; `:reason` says why. Without it such a row is passed over, and told. */
  readonly failed?: string | undefined;
  /** "5s" by default. */
  readonly every?: WrittenDuration | undefined;
  /** So many rows are read at a time; 100 by default. */
  readonly batch?: number | undefined;
}

interface ReachSettings {
  readonly urlFrom: string;
  readonly connectTimeoutMs: number;
  readonly replyTimeoutMs: number;
}

export interface DatabaseInboundSettings extends ReachSettings {
  readonly kind: "database";
  readonly query: string;
  readonly key: string;
  readonly body: string | null;
  readonly done: NamedStatement;
  readonly failed: NamedStatement | null;
  readonly everyMs: number;
  readonly batch: number;
}

/** A statement that is run for each message, as a config module writes it. */
export interface DatabaseOutboundOptions extends ReachOptions {
  readonly kind: "database";
  /**
   * Run in a transaction. `:body` is the message's bytes, `:text` the same as UTF-8, `:json.name` a field of a message that is
   * a JSON object; `:key` is the idempotency key, and there are `:id`, `:type`, `:control_id`, `:connection`, `:outbound`,
   * `:epoch` and `:attempt`.
   */
  readonly statement: string;
}

export interface DatabaseOutboundSettings extends ReachSettings {
  readonly kind: "database";
  readonly statement: NamedStatement;
}

const reachFields = ["kind", "urlFrom", "connectTimeout", "replyTimeout"] as const;

export function checkDatabaseInbound(given: unknown, where: string): Checked<DatabaseInboundSettings> {
  const known = [...reachFields, "query", "key", "body", "done", "failed", "every", "batch"];
  const fields = new Fields(given, where, known);
  const settings: DatabaseInboundSettings = {
    ...readReach(fields),
    query: sql(fields, "query"),
    key: fields.text("key", null, "the name of a column by which a row is known again"),
    body: fields.textOrNull("body", "the name of a column"),
    done: namedStatement(sql(fields, "done")),
    failed: fields.has("failed") ? namedStatement(sql(fields, "failed")) : null,
    everyMs: fields.duration("every", "5s", 10),
    batch: fields.whole("batch", 100, { min: 1, max: 10_000 }),
  };
  if (settings.done.text !== "" && settings.done.names.length === 0) {
    fields.bad("done", "about one row: name its columns, like :id");
  }
  return fields.checked(settings);
}

export function checkDatabaseOutbound(given: unknown, where: string): Checked<DatabaseOutboundSettings> {
  const fields = new Fields(given, where, [...reachFields, "statement"]);
  const statement = namedStatement(sql(fields, "statement"));
  const unknown = statement.names.find((name) => messageParameter(name) === null);
  if (unknown !== undefined) {
    const there =
      ":body, :text, :json.FIELD, :key, :id, :type, :control_id, :connection, :outbound, :epoch and :attempt";
    fields.bad("statement", `made with ${there}, and not :${unknown}`);
  }
  return fields.checked({ ...readReach(fields), statement });
}

function readReach(fields: Fields): ReachSettings & { readonly kind: "database" } {
  return {
    kind: "database",
    urlFrom: fields.variable("urlFrom"),
    connectTimeoutMs: fields.duration("connectTimeout", "10s"),
    replyTimeoutMs: fields.duration("replyTimeout", "30s"),
  };
}

function sql(fields: Fields, field: string): string {
  return fields.matching(field, null, /^[^\0]*\S[^\0]*$/, "a statement of SQL");
}
