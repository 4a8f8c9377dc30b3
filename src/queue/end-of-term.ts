const watched = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls `act` when the signal is aborted, unless the function it returns was called before.
 *
 * A term's signal is watched for every message, thousands of times a second and many at once. One listener serves them all:
 * a listener each would cost more than the rest of a call, and from the eleventh on Node warns of a leak.
 */
export function atEndOfTerm(signal: AbortSignal, act: () => void): () => void {
  const acts = watched.get(signal) ?? watch(signal);
  acts.add(act);
  return () => {
    acts.delete(act);
  };
}

function watch(signal: AbortSignal): Set<() => void> {
  const acts = new Set<() => void>();
  watched.set(signal, acts);
  signal.addEventListener(
    "abort",
    () => {
      for (const act of acts) act();
      acts.clear();
    },
    { once: true },
  );
  return acts;
}
