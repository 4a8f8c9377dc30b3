/** The candidate that takes the fewest keystrokes to get to, so that an error can name what was probably meant. */
export function nearest(written: string, candidates: readonly string[]): string | null {
  const ranked = candidates
    .map((candidate) => ({ candidate, distance: editDistance(plain(written), plain(candidate)) }))
    .sort((a, b) => a.distance - b.distance);
  return ranked[0]?.candidate ?? null;
}

/** The same, but nothing where more of the word would be wrong than right: a guess that far off misleads. */
export function similar(written: string, candidates: readonly string[]): string | null {
  const meant = nearest(written, candidates);
  if (meant === null) return null;
  return editDistance(plain(written), plain(meant)) <= Math.max(2, written.length / 2) ? meant : null;
}

/** Spelling is not distance: heartbeatSeconds, heartbeat_seconds and HEARTBEAT_SECONDS are the same word. */
function plain(name: string): string {
  return name.toLowerCase().replaceAll("_", "").slice(0, 100);
}

/** Levenshtein's distance, one row at a time. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= to.length; j += 1) {
      const change = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
