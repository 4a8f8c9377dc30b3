/** The same reading for all who ask while it is under way, or so long after: what many pages show is asked for once. */
export function sharedReading<Result>(keptMs: number, read: () => Promise<Result>): () => Promise<Result> {
  let shared: { readonly reading: Promise<Result>; endsAt: number } | null = null;
  return async () => {
    if (shared !== null && performance.now() < shared.endsAt) return await shared.reading;
    const fresh = { reading: read(), endsAt: Number.POSITIVE_INFINITY };
    shared = fresh;
    try {
      return await fresh.reading;
    } finally {
      fresh.endsAt = performance.now() + keptMs;
    }
  };
}
