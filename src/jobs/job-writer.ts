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
class LeftInDoubt extends Error {
  readonly told: HoldfastError;
  /** Why it was given up. */
  readonly ending: unknown;

  constructor(told: HoldfastError, ending: unknown) {
    super(told.message, { cause: ending });
    this.told = told;
    this.ending = ending;
  }
}

/** What an error of the writer means: for whoever asked, where that is not the error itself, and for the term. */
export function inDoubt(error: unknown): { readonly told: HoldfastError | null; readonly ending: unknown } {
  return error instanceof LeftInDoubt ? error : { told: null, ending: error };
}

function partlyDone(cause: unknown): HoldfastError {
  return new HoldfastError("UNKNOWN_OUTCOME", "Some of it was done before the term ended: look before asking again.", {
    cause,
  });
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
      const { told, ending } = inDoubt(error);
      if (!isFailure(ending, "DATABASE_REFUSED")) throw error;
      return await this.commitOneByOne(calls, told);
    }
  }

  /** Orders that the database refuses as a whole are carried out one by one: only the culprit is refused. */
  private async commitOneByOne(
    calls: readonly JobCall[],
    doubt: HoldfastError | null,
  ): Promise<readonly (JobAnswer | null)[]> {
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
          const { told, ending } = inDoubt(error);
          const unknown = told ?? doubt;
          if (!isFailure(ending, "DATABASE_REFUSED")) {
            if (answers.length > 0) reject(unknown ?? partlyDone(ending));
            throw unknown === null ? error : new LeftInDoubt(unknown, ending);
          }
          refusal ??= unknown ?? ending;
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
    });
    isDueIn(ripening.nextDueMs);
    return { ...ripening, mayBeMore: attempts > 1 };
  }

  /** What is not known to have been done is asked for again as it was: nothing of it is done twice. */
  private async known<Result>(ask: () => Promise<Result>): Promise<Result> {
    const { clock, trouble } = this.parts;
    let unknown: HoldfastError | null = null;
    try {
      for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
        try {
          return await ask();
        } catch (error) {
          if (!(error instanceof HoldfastError) || !passing.includes(error.code)) throw error;
          if (error.code === "UNKNOWN_OUTCOME") unknown = error;
          this.checkNotEnded();
          if (pauseMs === firstPauseMs) trouble("jobs could not be written, and are tried again", error);
          await pause(clock, pauseMs, this.over.signal);
          this.checkNotEnded();
        }
      }
    } catch (error) {
      throw unknown === null ? error : new LeftInDoubt(unknown, error);
    }
  }

  private checkNotEnded(): void {
    if (this.ended !== null) throw this.ended;
  }
}
