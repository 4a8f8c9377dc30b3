/**
 * Does work that ends early when one of the two signals is aborted. Nothing of it stays behind: `AbortSignal.any` leaves some
 * bytes with the signal that outlives it, for each call, until that one is gone.
 */
export async function untilEither<Result>(
  one: AbortSignal,
  other: AbortSignal,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const over = new AbortController();
  const end = (): void => over.abort();
  const both = [one, other];
  for (const signal of both) signal.addEventListener("abort", end, { once: true });
  if (both.some(({ aborted }) => aborted)) end();
  try {
    return await work(over.signal);
  } finally {
    for (const signal of both) signal.removeEventListener("abort", end);
  }
}
