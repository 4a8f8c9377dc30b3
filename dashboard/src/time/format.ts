/** Times and durations as people read them. Pure: the zone and the language are the machine's, or given. */

/** A duration with as many digits as say something: 0.8 ms, 412 ms, 3.2 s, 5 m 04 s, 2 h 11 m, 3 d 4 h. */
export function formatDuration(ms: number): string {
  if (!Number.isFinite(ms)) return "–";
  if (ms < 0) return `−${formatDuration(-ms)}`;
  if (ms === 0) return "0 ms";
  if (ms < 9.95) return `${ms.toFixed(1)} ms`;
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 9_950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} m ${pad(seconds % 60)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 1440) return `${Math.floor(minutes / 60)} h ${pad(minutes % 60)} m`;
  const hours = Math.floor(minutes / 60);
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** A gap to the millisecond, however long it was: 7.3 ms, 1 204 ms, 61 350 ms. */
export function formatGap(ms: number): string {
  if (ms < 100) return `${ms.toFixed(1)} ms`;
  const whole = Math.round(ms).toString();
  return `${whole.replace(/\B(?=(\d{3})+$)/g, "\u202f")} ms`;
}

/** How long ago, without a digit that changes faster than one reads. */
export function formatAgo(ms: number): string {
  if (ms < 1500) return "just now";
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s ago`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${minutes} min ago`;
  const hours = Math.round(minutes / 60);
  if (hours < 48) return `${hours} h ago`;
  return `${Math.round(hours / 24)} d ago`;
}

/** Local time; the day only where it is not today's. `2026-11-15 17:04:09.123` or `17:04:09`. */
export function formatTime(ms: number, now: number, precise = false): string {
  const date = new Date(ms);
  const clock = `${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}`;
  const fine = precise ? `${clock}.${String(date.getMilliseconds()).padStart(3, "0")}` : clock;
  return dayOf(date) === dayOf(new Date(now)) ? fine : `${dayOf(date)} ${fine}`;
}

/** For the title of whatever shows a local time. */
export function formatUtc(ms: number): string {
  return new Date(ms).toISOString().replace("T", " ").replace("Z", " UTC");
}

/** 1 204, and never 1.2k: an operator counts. */
export function formatCount(count: number): string {
  return Math.round(count)
    .toString()
    .replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

export function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 999_500) return `${(bytes / 1000).toFixed(bytes < 9_950 ? 1 : 0)} kB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

export function formatPercent(share: number): string {
  return `${Math.round(share * 100)} %`;
}

function dayOf(date: Date): string {
  return `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}`;
}

function pad(number: number): string {
  return String(number).padStart(2, "0");
}
