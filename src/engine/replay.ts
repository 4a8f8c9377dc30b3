import { type ErrorCode, HoldfastError } from "../errors.js";
import type { EngineBook, MessageFilter, MessageRow } from "../store/engine-contract.js";
import type { Page } from "../store/page.js";
import type { Engine } from "./engine.js";
import { meantOf } from "./meant-name.js";
import { missingMessage, rowOfMessage } from "./message-lookup.js";
import type { Refused } from "./transports/transport.js";

export interface ReplayWish {
  /** The one outbound that gets it; all that its handlers send to, where it is left out. */
  readonly to?: string | undefined;
  /** In place of what came. */
  readonly body?: Buffer | undefined;
}

export interface ReplayReport {
  readonly id: string;
  readonly replayOf: string;
}

/** One of many: the new message, or why there is none. */
export type ReplayOutcome = ReplayReport | { readonly replayOf: string; readonly error: HoldfastError };

export interface ReplayedMany {
  readonly outcomes: readonly ReplayOutcome[];
  /** Those that were not tried: the time was up, or one before them failed in a way that would have failed them too. */
  readonly left: readonly string[];
}

/** So many by one call. */
export const mostReplayed = 1_000;
const pageSize = 100;
/** So many, or so many bytes of them, are read together and taken in by one commit. */
const atOnce = 50;
const bytesAtOnce = 8 * 1_048_576;
/** How many bodies are read at the same time: others want to read, too. */
const readersAtOnce = 4;

/** What concerns one message alone: the others are replayed all the same. */
const ofOneMessage: ReadonlySet<ErrorCode> = new Set<ErrorCode>(["NOT_FOUND", "GONE", "REFUSED", "BODY_TOO_LARGE"]);

/** A message that can be taken in again, or why it cannot. */
type Readied =
  | { readonly kind: "ready"; readonly row: MessageRow; readonly body: Buffer }
  | { readonly kind: "failed"; readonly id: string; readonly error: HoldfastError };

type Book = Pick<EngineBook, "rows" | "bodyOf" | "search">;

/** Takes messages in again, as new ones that name the old: through the router and the handlers as they are now. */
export class Replaying {
  private readonly engine: Pick<Engine, "take" | "graph">;
  private readonly book: Book;

  constructor(engine: Pick<Engine, "take" | "graph">, book: Book) {
    this.engine = engine;
    this.book = book;
  }

  async replay(id: string, { to, body: edited }: ReplayWish): Promise<ReplayReport> {
    this.checkOutbound(to);
    const row = await rowOfMessage(this.book, id);
    return await this.take(row, edited ?? (await this.bodyOf(row)), to);
  }

  /** Those that match, the newest first, no more than so many, as far as the time reaches; and where to go on. */
  async matching(
    filter: MessageFilter,
    { limit, before }: Page,
    signal: AbortSignal,
  ): Promise<{ readonly ids: readonly string[]; readonly next: string | null }> {
    const ids: string[] = [];
    for (let from = before; ; ) {
      const page = { limit: Math.min(pageSize, limit - ids.length), ...(from === undefined ? {} : { before: from }) };
      const { items, next } = await this.book.search(filter, page);
      ids.push(...items.map(({ id }) => id));
      if (next === null || ids.length >= limit || signal.aborted) return { ids, next };
      from = next;
    }
  }

  /**
   * In the order in which they came. Where the first cannot be tried, nothing has happened, and that is what is thrown; after
   * that each has its outcome.
   */
  async replayAll(ids: readonly string[], to: string | undefined, signal: AbortSignal): Promise<ReplayedMany> {
    this.checkOutbound(to);
    const outcomes: ReplayOutcome[] = [];
    let left: readonly string[] = [...new Set(ids)].sort((one, other) => Number(one) - Number(other));
    while (left.length > 0 && !signal.aborted) {
      const some = await this.readied(left);
      // Called one after another, in one go: so they come into their lanes in this order.
      const done = await Promise.all(some.map(async (one) => await this.outcomeOf(one, to)));
      const stop = done.find((outcome) => "error" in outcome && !ofOneMessage.has(outcome.error.code));
      if (stop !== undefined && "error" in stop && ![...outcomes, ...done].some((one) => "id" in one)) throw stop.error;
      outcomes.push(...done);
      left = left.slice(some.length);
      if (stop !== undefined) break;
    }
    return { outcomes, left };
  }

  /** The first few of them, with their bodies. */
  private async readied(ids: readonly string[]): Promise<readonly Readied[]> {
    const some = ids.slice(0, atOnce);
    const rows = new Map((await this.book.rows(some)).map((row) => [row.id, row]));
    const readied: Readied[] = [];
    for (let bytes = 0; readied.length < some.length && bytes < bytesAtOnce; ) {
      const next = some.slice(readied.length, readied.length + readersAtOnce);
      readied.push(...(await Promise.all(next.map(async (id) => await this.readiedOne(id, rows.get(id))))));
      bytes += next.reduce((sum, id) => sum + (rows.get(id)?.size ?? 0), 0);
    }
    // Nothing overtakes one that could not be read for a while.
    const stopped = readied.findIndex((one) => one.kind === "failed" && !ofOneMessage.has(one.error.code));
    return stopped === -1 ? readied : readied.slice(0, stopped + 1);
  }

  private async readiedOne(id: string, row: MessageRow | undefined): Promise<Readied> {
    try {
      if (row === undefined) throw await missingMessage(this.book, id);
      return { kind: "ready", row, body: await this.bodyOf(row) };
    } catch (error) {
      if (error instanceof HoldfastError) return { kind: "failed", id, error };
      throw error;
    }
  }

  private async outcomeOf(one: Readied, to: string | undefined): Promise<ReplayOutcome> {
    if (one.kind === "failed") return { replayOf: one.id, error: one.error };
    try {
      return await this.take(one.row, one.body, to);
    } catch (error) {
      if (error instanceof HoldfastError) return { replayOf: one.row.id, error };
      throw error;
    }
  }

  private async bodyOf({ id, connection }: MessageRow): Promise<Buffer> {
    this.checkConnection(id, connection);
    const body = await this.book.bodyOf(id);
    if (body !== null) return body;
    throw new HoldfastError("GONE", `The body of message ${id} is kept no more (retention.bodies_days): send another.`);
  }

  private async take({ id, connection }: MessageRow, body: Buffer, to: string | undefined): Promise<ReplayReport> {
    this.checkConnection(id, connection);
    const receipt = await this.engine.take(connection, { body, peer: "replay" }, { of: id, only: to ?? null });
    if (receipt.kind === "accepted") return { id: receipt.id, replayOf: id };
    throw notTaken(receipt, `Message ${id}`);
  }

  private checkConnection(id: string, connection: string): void {
    if (this.engine.graph.inbounds.has(connection)) return;
    throw new HoldfastError(
      "REFUSED",
      `Message ${id} came in by connection "${connection}", which left the configuration: send its body to another one.`,
    );
  }

  checkOutbound(to: string | undefined): void {
    const { outbounds } = this.engine.graph;
    if (to === undefined || outbounds.has(to)) return;
    const end = meantOf(to, [...outbounds.keys()]);
    throw new HoldfastError("NOT_FOUND", `There is no outbound "${to}" in the configuration${end}`);
  }
}

/** Why nothing was taken in. What passes may be the database's own words, which are nobody's business outside. */
export function notTaken({ reason, retry }: Refused, what: string): HoldfastError {
  return retry
    ? new HoldfastError("TOO_BUSY", `${what} was not taken in: try again in a moment.`)
    : new HoldfastError("REFUSED", `${what} was not taken in: ${reason}`);
}
