const secondMs = 1_000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

/** A length of time for people: "13.1 ms", "3.2 s", "4 min 12 s", "3 h 5 min", "2 d 4 h". */
export function formatElapsed(ms: number): string {
  const length = Math.max(0, ms);
  // Judged as it will be written, so that 999.96 ms is a second and not 1000.0 ms.
  if (length < secondMs - 0.05) return `${length.toFixed(1)} ms`;
  if (length < minuteMs - 50) return `${(length / secondMs).toFixed(1)} s`;
  const whole = Math.round(length / secondMs) * secondMs;
  if (whole < hourMs) return inTwo(whole, minuteMs, "min", secondMs, "s");
  if (whole < dayMs) return inTwo(whole, hourMs, "h", minuteMs, "min");
  return inTwo(whole, dayMs, "d", hourMs, "h");
}

function inTwo(ms: number, large: number, largeUnit: string, small: number, smallUnit: string): string {
  const rest = Math.floor((ms % large) / small);
  return `${Math.floor(ms / large)} ${largeUnit}${rest === 0 ? "" : ` ${rest} ${smallUnit}`}`;
}

/** How long ago a moment was, both in seconds since 1970. A moment to come is now: clocks differ a little. */
export function formatAgo(at: number | null, now: number): string {
  if (at === null) return "-";
  const seconds = Math.max(0, now - at);
  return seconds < 0.05 ? "just now" : `${formatElapsed(Math.max(seconds * 1000, 100)).replace(/\.\d ms$/, " ms")} ago`;
}

/** A moment as a person on this machine would write it. */
export function formatMoment(at: number | null): string {
  if (at === null) return "-";
  const local = new Date(at * 1000);
  const two = (value: number): string => String(value).padStart(2, "0");
  const date = `${local.getFullYear()}-${two(local.getMonth() + 1)}-${two(local.getDate())}`;
  return `${date} ${two(local.getHours())}:${two(local.getMinutes())}:${two(local.getSeconds())}`;
}
