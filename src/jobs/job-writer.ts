import type { Clock } from "../election/clock.js";
import { type ErrorCode, HoldfastError, invariant, isFailure } from "../errors.js";
import { pause } from "../lifecycle/pause.js";
import type { FenceToken } from "../store/contract.js";
import type { JobBook, Ripening } from "../store/job-contract.js";
import type { JobAnswer, JobOrder } from "../store/job-orders.js";
import type { JobCall } from "./job-call.js";

export interface JobWriterParts {
  readonly book: JobBook;
  readonly fence: FenceToken;
  readonly clock: Clock;
  readonly trouble: (what: string, error: unknown) => void;
  /** In how many milliseconds there is something to ripen, as a transaction has found; null where there is nothing. */
  readonly isDueIn: (ms: number | null) => void;
}

const mostRipened = 1_000;
const firstPauseMs = 10;
const longestPauseMs = 2_000;
const passing: readonly ErrorCode[] = ["UNKNOWN_OUTCOME", "DATABASE_AWAY", "DATABASE_READ_ONLY"];

/** An attempt may have been committed, and nobody can find that out any more: whoever asked has to look before asking again. */
export class LeftInDoubt extends Error {
  readonly told: HoldfastError;
  /** Why it was given up. */
  readonly ending: unknown;

  constructor(told: HoldfastError, ending: unknown) {
    super(told.message, { cause: ending });
    this.told = told;
    this.ending = ending;
  }
}

/** Writes under one term's fence, until it is known what came of it or the term is over. */
export class JobWriter {
  private readonly parts: JobWriterParts;
  private readonly over = new AbortController();
  private ended: Error | null = null;

  constructor(parts: JobWriterParts) {
    this.parts = parts;
  }

  end(reason: Error): void {
    this.ended = reason;
    this.over.abort();
  }

  /** Answers each call when it is committed. Null in the place of an order that the database refused. */
  async commit(calls: readonly JobCall[], orders: readonly JobOrder[]): Promise<readonly (JobAnswer | null)[]> {
    try {
      const answers = await this.apply(orders);
      let next = 0;
      for (const { orders: asked, resolve } of calls) {
        resolve(asked.length === answers.length ? answers : answers.slice(next, next + asked.length));
        next += asked.length;
      }
      return answers;
    } catch (error) {
      if (!isFailure(error, "DATABASE_REFUSED")) throw error;
      return await this.commitOneByOne(calls);
    }
  }

  /** Orders that the database refuses as a whole are carried out one by one: only the culprit is refused. */
  private async commitOneByOne(calls: readonly JobCall[]): Promise<readonly (JobAnswer | null)[]> {
    const all: (JobAnswer | null)[] = [];
    for (const { orders, resolve, reject } of calls) {
      const answers: JobAnswer[] = [];
      let refusal: unknown = null;
      for (const order of orders) {
        try {
          const [answer] = await this.apply([order]);
          answers.push(answer as JobAnswer);
          all.push(answer as JobAnswer);
        } catch (error) {
          if (!isFailure(error, "DATABASE_REFUSED")) throw error;
          refusal ??= error;
          all.push(null);
        }
      }
      if (refusal === null) resolve(answers);
      else reject(refusal);
    }
    return all;
  }

  private async apply(orders: readonly JobOrder[]): Promise<readonly JobAnswer[]> {
    const { book, fence, isDueIn } = this.parts;
    const { answers, nextDueMs } = await this.known(async () => await book.apply(fence, orders));
    invariant(answers.length === orders.length, "every order has an answer");
    isDueIn(nextDueMs);
    return answers;
  }

  /** `mayBeMore`: an attempt before this one may have ripened some of which nobody has heard. */
  async ripen(): Promise<Ripening & { readonly mayBeMore: boolean }> {
    const { book, fence, isDueIn } = this.parts;
    let attempts = 0;
    const ripening = await this.known(async () => {
      attempts += 1;
      return await book.ripen(fence, mostRipened);
    }, [...passing, "DATABASE_REFUSED"]);
    isDueIn(ripening.nextDueMs);
    return { ...ripening, mayBeMore: attempts > 1 };
  }

  /** What is not known to have been done is asked for again as it was: nothing of it is done twice. */
  private async known<Result>(ask: () => Promise<Result>, passes = passing): Promise<Result> {
    const { clock, trouble } = this.parts;
    let unknown: HoldfastError | null = null;
    try {
      for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
        try {
          return await ask();
        } catch (error) {
          if (!(error instanceof HoldfastError) || !passes.includes(error.code)) throw error;
          if (error.code === "UNKNOWN_OUTCOME") unknown = error;
          this.checkNotEnded();
          if (pauseMs === firstPauseMs) trouble("jobs could not be written, and are tried again", error);
          await pause(clock, pauseMs, this.over.signal);
          this.checkNotEnded();
        }
      }
    } catch (error) {
      throw unknown === null || isFailure(error, "DATABASE_REFUSED") ? error : new LeftInDoubt(unknown, error);
    }
  }

  private checkNotEnded(): void {
    if (this.ended !== null) throw this.ended;
  }
}
