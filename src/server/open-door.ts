import type { IncomingHttpHeaders } from "node:http";
import { isLoopback } from "../config/loopback.js";
import { HoldfastError } from "../errors.js";
import type { ServedNode } from "./served-node.js";

/**
 * Whether everyone may do everything: no token was ever made, and nobody but this machine can reach the port. A token list
 * that empties later, by a restore from a dump perhaps, opens nothing elsewhere.
 */
export function isOpenDoor({ access, config }: Pick<ServedNode, "access" | "config">): boolean {
  return isLoopback(config.api.host) && access.isOpen;
}

/**
 * An open door is for programs of this machine, not for pages that its browser happens to show. A page gets here by a name
 * that was pointed at 127.0.0.1 (the Host header tells) or by a request across sites (the Origin header tells, and
 * Sec-Fetch-Site where a browser sends no Origin). A link to here that a person follows is theirs: the page that had it sees
 * nothing of the answer.
 */
export function refuseForeignPages(method: string, headers: IncomingHttpHeaders): void {
  const { host, origin, "sec-fetch-site": site } = headers;
  // Only HTTP/1.0 may leave it out, and no browser speaks that.
  if (host !== undefined && !isLoopback(hostnameOf(host))) {
    throw new HoldfastError(
      "FORBIDDEN",
      "Without a token this node answers only to a loopback name in the Host header.",
    );
  }
  const isForeign = origin !== undefined && hostOf(origin) !== host?.toLowerCase();
  const isAcross = site === "cross-site" || site === "same-site";
  if (isForeign || (isAcross && !isFollowedLink(method, headers))) {
    throw new HoldfastError("FORBIDDEN", "Without a token this node answers no page of another origin.");
  }
}

function isFollowedLink(method: string, headers: IncomingHttpHeaders): boolean {
  return method === "GET" && headers["sec-fetch-mode"] === "navigate" && headers["sec-fetch-dest"] === "document";
}

const hostnameOf = (host: string): string => host.replace(/:\d{1,5}$/, "");

/** The host and port of an origin; empty where it has none ("null", as sandboxed pages say). */
function hostOf(origin: string): string {
  return URL.canParse(origin) ? new URL(origin).host : "";
}
