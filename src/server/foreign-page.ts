import type { IncomingHttpHeaders } from "node:http";

/**
 * Whether a browser sends this for a page that is not ours: the Origin header tells, and Sec-Fetch-Site where a browser sends no
 * Origin. A link to here that a person follows is theirs: the page that had it sees nothing of the answer. `own` are the hosts,
 * with their ports, by which this node is known to the browser.
 */
export function isForeignPage(
  method: string,
  headers: IncomingHttpHeaders,
  own: readonly (string | undefined)[],
): boolean {
  const { origin, "sec-fetch-site": site } = headers;
  if (origin !== undefined && !own.some((host) => isOf(origin, host))) return true;
  const isAcross = site === "cross-site" || site === "same-site";
  return isAcross && !isFollowedLink(method, headers);
}

/** Whether the origin is of this host; a port that goes without saying may be said or not. */
function isOf(origin: string, host: string | undefined): boolean {
  const from = hostOf(origin);
  return from !== "" && from === hostOf(`${new URL(origin).protocol}//${host ?? ""}`);
}

function isFollowedLink(method: string, headers: IncomingHttpHeaders): boolean {
  return method === "GET" && headers["sec-fetch-mode"] === "navigate" && headers["sec-fetch-dest"] === "document";
}

/** The host and port of an origin or a URL; empty where it has none ("null", as sandboxed pages say). */
export function hostOf(origin: string): string {
  return URL.canParse(origin) ? new URL(origin).host : "";
}
