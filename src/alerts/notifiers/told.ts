import type { PostEnd } from "./guarded-post.js";
import type { Told } from "./notifier.js";

/** What an answer means. Whatever was not taken may be taken later: somebody may mend the address meanwhile. */
export function toldBy(end: PostEnd, sayOf: (text: string) => string | null = () => null): Told {
  if (end.kind === "failed") return { ...end, afterMs: null };
  const { status, text, afterMs } = end;
  if (status >= 200 && status < 300) return { kind: "sent" };
  const said = sayOf(text);
  return { kind: "failed", problem: `HTTP ${status}${said === null ? "" : ` (${said})`}`, afterMs };
}
