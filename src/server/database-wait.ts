import { HoldfastError } from "../errors.js";
import type { ServedNode } from "./served-node.js";

/** Whoever asks a node gets an answer soon, also while the database gives none. */
export async function fromDatabase<Result>(waitMs: number, reading: Promise<Result>): Promise<Result> {
  return await inTime(waitMs, reading, "DATABASE_AWAY");
}

/**
 * The same for what changes something. A write that was sent may be done after we stopped waiting, so its outcome is unknown
 * then; where the database is known to be away, none is sent.
 */
export async function toDatabase<Result>(
  node: Pick<ServedNode, "readiness">,
  waitMs: number,
  write: () => Promise<Result>,
): Promise<Result> {
  if (!node.readiness().database)
    throw new HoldfastError("DATABASE_AWAY", "The database is away: nothing was sent to it.");
  return await inTime(waitMs, write(), "UNKNOWN_OUTCOME");
}

async function inTime<Result>(
  waitMs: number,
  asked: Promise<Result>,
  otherwise: "DATABASE_AWAY" | "UNKNOWN_OUTCOME",
): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      reject(new HoldfastError(otherwise, `The database did not answer within ${waitMs} ms.`));
    }, waitMs);
  });
  try {
    return await Promise.race([asked, late]);
  } finally {
    clearTimeout(timer);
  }
}
