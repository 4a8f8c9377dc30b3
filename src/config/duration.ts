/** A length of time as it was written, and what that is in milliseconds. */
export interface Duration {
  readonly written: string;
  readonly ms: number;
}

const units = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Durations are written "500ms", "5s", "1m", "24h", "7d". */
export function parseDuration(written: string): Duration | null {
  const match = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h|d)$/.exec(written);
  if (match === null) return null;
  return Object.freeze({ written, ms: Number(match[1]) * units[match[2] as keyof typeof units] });
}
