import { HoldfastError } from "../errors.js";

/** Whoever asks a node gets an answer soon, also while the database gives none. */
export async function fromDatabase<Result>(waitMs: number, reading: Promise<Result>): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => {
      reject(new HoldfastError("DATABASE_AWAY", `The database did not answer within ${waitMs} ms.`));
    }, waitMs);
  });
  try {
    return await Promise.race([reading, late]);
  } finally {
    clearTimeout(timer);
  }
}
