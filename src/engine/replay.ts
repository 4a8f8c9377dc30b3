import { HoldfastError } from "../errors.js";
import type { EngineBook, MessageFilter } from "../store/engine-contract.js";
import type { Engine } from "./engine.js";

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

/** A replay by filter takes so many at once. */
export const mostReplayed = 1_000;
const pageSize = 100;

/** Takes messages in again, as new ones that name the old: through the router and the handlers as they are now. */
export class Replaying {
  private readonly engine: Pick<Engine, "take" | "graph">;
  private readonly book: Pick<EngineBook, "message" | "bodyOf" | "search">;

  constructor(engine: Pick<Engine, "take" | "graph">, book: Pick<EngineBook, "message" | "bodyOf" | "search">) {
    this.engine = engine;
    this.book = book;
  }

  async replay(id: string, { to, body: edited }: ReplayWish): Promise<ReplayReport> {
    this.checkOutbound(to);
    const account = await this.book.message(id);
    if (account === null) throw new HoldfastError("NOT_FOUND", `There is no message ${id}, or none any more.`);
    const body = edited ?? (await this.book.bodyOf(id));
    if (body === null) {
      throw new HoldfastError(
        "GONE",
        `The body of message ${id} is kept no more (retention.bodies_days): send another.`,
      );
    }
    const arrival = { body, peer: "replay" };
    const receipt = await this.engine.take(account.connection, arrival, { of: id, only: to ?? null });
    if (receipt.kind === "accepted") return { id: receipt.id, replayOf: id };
    throw new HoldfastError(
      receipt.retry ? "TOO_BUSY" : "REFUSED",
      `Message ${id} was not taken in: ${receipt.reason}`,
    );
  }

  /** Those that match, the newest first, and no more than so many. */
  async matching(filter: MessageFilter, limit: number): Promise<readonly string[]> {
    if (!Number.isInteger(limit) || limit < 1 || limit > mostReplayed) {
      throw new HoldfastError("INVALID_REQUEST", `limit must be a whole number from 1 to ${mostReplayed}.`);
    }
    const found: string[] = [];
    for (let before: string | undefined; found.length < limit; ) {
      const page = { limit: Math.min(pageSize, limit - found.length), ...(before === undefined ? {} : { before }) };
      const { items, next } = await this.book.search(filter, page);
      found.push(...items.map(({ id }) => id));
      if (next === null) break;
      before = next;
    }
    return found;
  }

  /** In the order in which they came. Stops at the first that fails: those before it are told with the error. */
  async replayAll(ids: readonly string[], to: string | undefined): Promise<readonly ReplayReport[]> {
    this.checkOutbound(to);
    const done: ReplayReport[] = [];
    for (const id of [...ids].sort((one, other) => Number(one) - Number(other))) {
      try {
        done.push(await this.replay(id, { to }));
      } catch (error) {
        if (!(error instanceof HoldfastError) || done.length === 0) throw error;
        const details = { ...error.details, replayed: done.map(({ replayOf }) => replayOf) };
        throw new HoldfastError(error.code, `${error.message} ${done.length} were taken in before it.`, { details });
      }
    }
    return done;
  }

  private checkOutbound(to: string | undefined): void {
    if (to === undefined || this.engine.graph.outbounds.has(to)) return;
    throw new HoldfastError("NOT_FOUND", `There is no outbound "${to}" in the configuration.`);
  }
}
