import type { DeliveryOutcome } from "../transport.js";

/** An answer as far as it was read. The body is null where it was too long, or cut off. */
export interface HttpReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: Buffer | null;
}

/** Too early, too many, too slow: said by a server that would take the same request later. */
const passing = [408, 425, 429];

/** What an answer means for the message. A 2xx is a delivery also where its body was lost: the status came after the work. */
export function verdictOn(reply: HttpReply, maxRetryAfterMs: number, wallMs: number): DeliveryOutcome {
  const { status, headers, body } = reply;
  if (status >= 200 && status < 300) return { kind: "delivered", reply: body };
  if (status >= 300 && status < 400) {
    const to = typeof headers.location === "string" ? ` to ${shown(headers.location)}` : "";
    return rejected(`it redirects${to} (${status}), and redirects are not followed: set the url to where it is.`);
  }
  const said = sayingOf(body);
  if (status < 500 && !passing.includes(status)) return rejected(`it refused with ${status}${said}`);
  const retryAfterMs = retryAfterOf(headers["retry-after"], wallMs);
  return {
    kind: "rejected",
    retry: true,
    reason: `it answered ${status}${said}`,
    ...(retryAfterMs === null ? {} : { retryAfterMs: Math.min(retryAfterMs, maxRetryAfterMs) }),
  };
}

function rejected(reason: string): DeliveryOutcome {
  return { kind: "rejected", reason, retry: false };
}

/** Seconds, or a date. */
function retryAfterOf(header: string | readonly string[] | undefined, wallMs: number): number | null {
  if (typeof header !== "string") return null;
  if (/^\d{1,9}$/.test(header.trim())) return Number(header) * 1_000;
  const at = Date.parse(header);
  return Number.isNaN(at) ? null : Math.max(0, at - wallMs);
}

function sayingOf(body: Buffer | null): string {
  const said = shown(body === null ? "" : body.subarray(0, 800).toString("utf8"));
  return said === "" ? "" : `: ${said}`;
}

/** One line that a log can carry, whatever the other side wrote. */
function shown(text: string): string {
  const line = text.replace(/[\p{Cc}\p{Cf}\u2028\u2029\s]+/gu, " ").trim();
  return line.length <= 200 ? line : `${line.slice(0, 197)}...`;
}
