import { useServerNow } from "../time/clock.js";
import { formatAgo, formatDuration, formatTime, formatUtc } from "../time/format.js";

interface Moment {
  /** Seconds of the epoch, as the API tells them; null where there is none. */
  readonly at: number | null | undefined;
}

/** Local time, with the UTC for whoever points at it. */
export function Time({ at, precise = false }: Moment & { readonly precise?: boolean }) {
  const now = useServerNow(60_000);
  if (at === null || at === undefined) return <span class="faint">–</span>;
  return (
    <time class="num" dateTime={new Date(at * 1000).toISOString()} title={formatUtc(at * 1000)}>
      {formatTime(at * 1000, now, precise)}
    </time>
  );
}

/** How long ago, kept up to date. */
export function Ago({ at }: Moment) {
  const now = useServerNow(1000);
  if (at === null || at === undefined) return <span class="faint">–</span>;
  return (
    <time class="num" dateTime={new Date(at * 1000).toISOString()} title={formatUtc(at * 1000)}>
      {formatAgo(now - at * 1000)}
    </time>
  );
}

/** In how long, kept up to date: for what is due. */
export function Until({ at }: Moment) {
  const now = useServerNow(1000);
  if (at === null || at === undefined) return <span class="faint">–</span>;
  const left = at * 1000 - now;
  return (
    <time class="num" dateTime={new Date(at * 1000).toISOString()} title={formatUtc(at * 1000)}>
      {left > 0 ? `in ${formatDuration(Math.ceil(left / 1000) * 1000)}` : "now"}
    </time>
  );
}

/** A length of time that stands still. */
export function Duration({ ms }: { readonly ms: number | null | undefined }) {
  if (ms === null || ms === undefined) return <span class="faint">–</span>;
  return <span class="num">{formatDuration(ms)}</span>;
}

/** A length of time that grows: since when. */
export function Since({ at }: Moment) {
  const now = useServerNow(1000);
  if (at === null || at === undefined) return <span class="faint">–</span>;
  const ms = Math.max(0, now - at * 1000);
  return (
    <span class="num" title={`since ${formatUtc(at * 1000)}`}>
      {formatDuration(Math.floor(ms / 1000) * 1000 || 1000)}
    </span>
  );
}
