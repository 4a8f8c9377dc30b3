import { type ErrorCode, HoldfastError } from "../errors.js";
import { within } from "../lifecycle/within.js";
import type { ServedNode } from "./served-node.js";

/** Whoever asks a node gets an answer soon, also while the database gives none. */
export async function fromDatabase<Result>(waitMs: number, reading: Promise<Result>): Promise<Result> {
  return await within(waitMs, reading, () => {
    throw late("DATABASE_AWAY", waitMs);
  });
}

/**
 * The same for what changes something. A write that was sent may be done after we stopped waiting, or after its connection
 * broke, so its outcome is unknown then; where the database is known to be away, none is sent.
 */
export async function toDatabase<Result>(
  node: Pick<ServedNode, "readiness">,
  waitMs: number,
  write: () => Promise<Result>,
): Promise<Result> {
  if (!node.readiness().database)
    throw new HoldfastError("DATABASE_AWAY", "The database is away: nothing was sent to it.");
  try {
    return await within(waitMs, write(), () => {
      throw late("UNKNOWN_OUTCOME", waitMs);
    });
  } catch (error) {
    if (!(error instanceof HoldfastError) || error.code !== "DATABASE_AWAY") throw error;
    throw new HoldfastError("UNKNOWN_OUTCOME", "The database went away while this was under way.", { cause: error });
  }
}

function late(code: ErrorCode, waitMs: number): HoldfastError {
  return new HoldfastError(code, `The database did not answer within ${waitMs} ms.`);
}
