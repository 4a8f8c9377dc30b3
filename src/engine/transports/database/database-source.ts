import { createHash } from "node:crypto";
import { errorText } from "../../../errors.js";
import { pause } from "../../../lifecycle/pause.js";
import { within } from "../../../lifecycle/within.js";
import type { OpenOutside, OutsideDatabase, OutsideParameter, OutsideRow } from "../../../store/outside-contract.js";
import { namedSecret } from "../named-secret.js";
import { SourceStanding } from "../standing.js";
import type { Arrival, Source, SourceParts, SourceState } from "../transport.js";
import type { DatabaseInboundSettings } from "./database-settings.js";
import type { NamedStatement } from "./named-parameters.js";

/** What is under way when it stops gets so long; nothing of it is lost where that is not enough. */
const lastLookMs = 2_000;
const longestKey = 200;

type KeyedArrival = Arrival & { readonly key: string };

/** What became of a row, so that it is not taken in again while it is still there. */
type Fate = { readonly kind: "done" } | { readonly kind: "failed"; readonly reason: string };

/**
 * Takes rows in, one after the other: read, committed, marked. A row that was committed and could not be marked comes again,
 * and is known by its key and what it says: one that was changed since is another message.
 */
export class DatabaseSource implements Source {
  private readonly parts: SourceParts<DatabaseInboundSettings>;
  private readonly open: OpenOutside;
  private readonly standing: SourceStanding;
  /** Rows whose fate is decided and that the last look still found. */
  private decided = new Map<string, Fate>();
  private database: OutsideDatabase | null = null;
  private stopping = new AbortController();
  private polling: Promise<void> = Promise.resolve();
  private told: string | null = null;

  constructor(parts: SourceParts<DatabaseInboundSettings>, open: OpenOutside) {
    this.parts = parts;
    this.open = open;
    this.standing = new SourceStanding(parts);
  }

  get state(): SourceState {
    return this.standing.state;
  }

  async start(): Promise<void> {
    const { settings, name } = this.parts;
    this.standing.become("starting");
    this.stopping = new AbortController();
    try {
      this.database = this.open({
        url: namedSecret(settings.urlFrom, `Inbound "${name}"`),
        connectTimeoutMs: settings.connectTimeoutMs,
        replyTimeoutMs: settings.replyTimeoutMs,
        name: `holdfast inbound ${name}`,
      });
    } catch (error) {
      this.standing.become("failed", errorText(error));
      throw error;
    }
    this.standing.become("polling");
    this.polling = this.poll(this.database, this.stopping.signal);
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    this.standing.become("stopped");
    const { database } = this;
    this.database = null;
    await within(lastLookMs, this.polling);
    await database?.close();
  }

  private async poll(database: OutsideDatabase, signal: AbortSignal): Promise<void> {
    const { clock, settings } = this.parts;
    while (!signal.aborted) {
      const troubles: string[] = [];
      let isMore = false;
      try {
        isMore = await this.round(database, signal, troubles);
      } catch (error) {
        troubles.push(errorText(error));
      }
      if (signal.aborted) return;
      this.tell(troubles);
      if (!isMore) await pause(clock, settings.everyMs, signal);
    }
  }

  /** True where there is probably more to take at once. */
  private async round(database: OutsideDatabase, signal: AbortSignal, troubles: string[]): Promise<boolean> {
    const { batch, query, key } = this.parts.settings;
    // Rows that stay must not hide the others.
    const most = batch + Math.min(this.decided.size, batch);
    const rows = await database.read(query, most);
    const left = new Map<string, Fate>();
    let taken = 0;
    for (const row of rows) {
      if (signal.aborted) return false;
      const rowKey = row.get(key)?.text ?? null;
      if (rowKey === null) {
        const why = row.has(key) ? "is null" : "is not among the columns of the query";
        troubles.push(`a row cannot be taken in: its key "${key}" ${why}`);
        continue;
      }
      const arrival = this.arrivalOf(row, rowKey);
      const known = typeof arrival === "string" ? `${rowKey}: ${arrival}` : arrival.key;
      const before = this.decided.get(known);
      const fate = before ?? (await this.take(arrival, rowKey, troubles));
      if (fate === null) return false;
      // After a stop the row is the next leader's, who knows it again by its key.
      if (signal.aborted) return false;
      if (fate.kind === "failed" && before === undefined) {
        this.parts.log.warn({ row: rowKey.slice(0, longestKey) }, `a row cannot be taken in: ${fate.reason}`);
      }
      if (await this.mark(database, row, fate, troubles)) taken += 1;
      else left.set(known, fate);
    }
    this.decided = left;
    return taken > 0 && rows.length >= most;
  }

  /** Null where no further row is to be taken for now: the order stays. */
  private async take(arrival: KeyedArrival | string, rowKey: string, troubles: string[]): Promise<Fate | null> {
    if (typeof arrival === "string") return { kind: "failed", reason: arrival };
    const receipt = await this.parts.accept(arrival, () => null);
    if (receipt.kind === "accepted") return { kind: "done" };
    if (!receipt.retry) return { kind: "failed", reason: receipt.reason };
    troubles.push(`row ${rowKey} was not taken in: ${receipt.reason}`);
    return null;
  }

  /** The message of a row, or why there is none. */
  private arrivalOf(row: OutsideRow, rowKey: string): KeyedArrival | string {
    const { settings, name } = this.parts;
    const arrival = (body: Buffer): KeyedArrival => ({
      body,
      peer: `row ${rowKey.slice(0, longestKey)} of ${name}`,
      headers: { row_key: rowKey.slice(0, longestKey) },
      key: `row:${rowKey.length > longestKey ? digestOf(rowKey) : rowKey}:${digestOf(body)}`,
    });
    if (settings.body === null) {
      const json = Object.fromEntries([...row].map(([column, value]) => [column, value.json]));
      return arrival(Buffer.from(JSON.stringify(json)));
    }
    const column = row.get(settings.body);
    if (column === undefined) return `its column "${settings.body}" is not among those of the query`;
    return column.bytes === null || column.bytes.length === 0
      ? `its column "${settings.body}" is empty`
      : arrival(column.bytes);
  }

  /** Whether the row will not come again. */
  private async mark(database: OutsideDatabase, row: OutsideRow, fate: Fate, troubles: string[]): Promise<boolean> {
    const { settings } = this.parts;
    const rowKey = row.get(settings.key)?.text ?? "";
    const statement = fate.kind === "done" ? settings.done : settings.failed;
    if (statement === null) {
      troubles.push(`row ${rowKey} is passed over: ${fate.kind === "failed" ? fate.reason : ""}`);
      return false;
    }
    try {
      const marked = await database.execute(statement.text, valuesOf(statement, row, fate));
      if (marked > 0) return true;
      troubles.push(`row ${rowKey} was taken in, and "${fate.kind}" marked nothing: the query answers it again`);
    } catch (error) {
      troubles.push(`row ${rowKey} was taken in and cannot be marked (${errorText(error)})`);
    }
    return false;
  }

  private tell(troubles: readonly string[]): void {
    const [first] = troubles;
    const more = troubles.length > 1 ? `, and ${troubles.length - 1} more` : "";
    const reason = first === undefined ? null : first + more;
    if (reason !== null && reason !== this.told) this.parts.log.warn(reason);
    this.told = reason;
    this.standing.become("polling", reason);
  }
}

function valuesOf({ names }: NamedStatement, row: OutsideRow, fate: Fate): readonly OutsideParameter[] {
  return names.map((name) => {
    const column = row.get(name);
    if (column !== undefined) return column.text;
    if (fate.kind === "failed" && name === "reason") return fate.reason;
    throw new Error(`it asks for :${name}, which is not among the columns of the query`);
  });
}

const digestOf = (text: string | Buffer): string => createHash("sha256").update(text).digest("hex");
