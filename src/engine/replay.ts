import { type ErrorCode, HoldfastError } from "../errors.js";
import type { EngineBook, MessageFilter } from "../store/engine-contract.js";
import type { Page } from "../store/page.js";
import type { Engine } from "./engine.js";
import { rowOfMessage } from "./message-lookup.js";
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

/** So many at once. */
export const mostReplayed = 1_000;
const pageSize = 100;

/** What concerns one message alone: the others are replayed all the same. */
const ofOneMessage: ReadonlySet<ErrorCode> = new Set<ErrorCode>(["NOT_FOUND", "GONE", "REFUSED", "BODY_TOO_LARGE"]);

/** Takes messages in again, as new ones that name the old: through the router and the handlers as they are now. */
export class Replaying {
  private readonly engine: Pick<Engine, "take" | "graph">;
  private readonly book: Pick<EngineBook, "bodyOf" | "search">;

  constructor(engine: Pick<Engine, "take" | "graph">, book: Pick<EngineBook, "bodyOf" | "search">) {
    this.engine = engine;
    this.book = book;
  }

  async replay(id: string, { to, body: edited }: ReplayWish): Promise<ReplayReport> {
    this.checkOutbound(to);
    const { connection } = await rowOfMessage(this.book, id);
    if (!this.engine.graph.inbounds.has(connection)) {
      throw new HoldfastError(
        "REFUSED",
        `Message ${id} came in by connection "${connection}", which left the configuration: send its body to another one.`,
      );
    }
    const body = edited ?? (await this.book.bodyOf(id));
    if (body === null) {
      throw new HoldfastError(
        "GONE",
        `The body of message ${id} is kept no more (retention.bodies_days): send another.`,
      );
    }
    const receipt = await this.engine.take(connection, { body, peer: "replay" }, { of: id, only: to ?? null });
    if (receipt.kind === "accepted") return { id: receipt.id, replayOf: id };
    throw notTaken(receipt, `Message ${id}`);
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
   * In the order in which they came, one after another. Where the first cannot be tried, nothing has happened, and that is what
   * is thrown; after that each has its outcome.
   */
  async replayAll(ids: readonly string[], to: string | undefined, signal: AbortSignal): Promise<ReplayedMany> {
    this.checkOutbound(to);
    const waiting = [...new Set(ids)].sort((one, other) => Number(one) - Number(other));
    const outcomes: ReplayOutcome[] = [];
    while (waiting.length > 0 && !signal.aborted) {
      const id = waiting.shift() as string;
      try {
        outcomes.push(await this.replay(id, { to }));
      } catch (error) {
        if (!(error instanceof HoldfastError)) throw error;
        const isItsOwn = ofOneMessage.has(error.code);
        if (!isItsOwn && outcomes.length === 0) throw error;
        outcomes.push({ replayOf: id, error });
        if (!isItsOwn) break;
      }
    }
    return { outcomes, left: waiting };
  }

  checkOutbound(to: string | undefined): void {
    if (to === undefined || this.engine.graph.outbounds.has(to)) return;
    throw new HoldfastError("NOT_FOUND", `There is no outbound "${to}" in the configuration.`);
  }
}

/** Why nothing was taken in. What passes may be the database's own words, which are nobody's business outside. */
export function notTaken({ reason, retry }: Refused, what: string): HoldfastError {
  return retry
    ? new HoldfastError("TOO_BUSY", `${what} was not taken in: try again in a moment.`)
    : new HoldfastError("REFUSED", `${what} was not taken in: ${reason}`);
}
