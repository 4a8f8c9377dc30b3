import type { Logger } from "pino";
import { errorText, HoldfastError } from "../errors.js";
import { retryWhileAway } from "./retry.js";

interface Waiting {
  readonly log: Logger;
  readonly answerMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** A step of a start that needs the database. Whoever looks on is told at once why nothing happens while that is away. */
export async function awaitDatabase(step: () => Promise<unknown>, { log, answerMs, signal }: Waiting): Promise<void> {
  let isTold = false;
  const attempt = async (): Promise<void> => {
    try {
      await step();
    } catch (error) {
      if (!isTold && error instanceof HoldfastError && error.code === "DATABASE_AWAY") {
        isTold = true;
        log.warn({ reason: errorText(error) }, `the database is away: it is tried for ${answerMs / 1000} s`);
      }
      throw error;
    }
  };
  await retryWhileAway(attempt, answerMs, [], signal);
}
