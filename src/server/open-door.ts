import type { IncomingHttpHeaders } from "node:http";
import { isLoopback } from "../config/loopback.js";
import { HoldfastError } from "../errors.js";
import { isForeignPage } from "./foreign-page.js";
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
 * that was pointed at 127.0.0.1 (the Host header tells) or by a request across sites.
 */
export function refuseForeignPages(method: string, headers: IncomingHttpHeaders): void {
  const { host } = headers;
  // Only HTTP/1.0 may leave it out, and no browser speaks that.
  if (host !== undefined && !isLoopback(hostnameOf(host))) {
    throw new HoldfastError(
      "FORBIDDEN",
      "Without a token this node answers only to a loopback name in the Host header.",
    );
  }
  if (isForeignPage(method, headers, [host])) {
    throw new HoldfastError("FORBIDDEN", "Without a token this node answers no page of another origin.");
  }
}

const hostnameOf = (host: string): string => host.replace(/:\d{1,5}$/, "");
