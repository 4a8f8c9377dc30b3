import { HoldfastError } from "../errors.js";
import { oneLine } from "./paint.js";

/** Why nobody was heard at an address: a clause for the middle of a sentence, and what to do about it. */
export interface Unreached {
  /** "untrusted": something is there, and cannot prove to be the node that was meant. */
  readonly kind: "away" | "untrusted";
  readonly reason: string;
  readonly wayOut: string;
}

export class UnreachedError extends HoldfastError {
  readonly unreached: Unreached;

  constructor(url: string, unreached: Unreached, cause: unknown) {
    const { kind, reason, wayOut } = unreached;
    const what = kind === "untrusted" ? `The node at ${url} cannot be trusted` : `No node answers at ${url}`;
    super("NODE_AWAY", `${what} (${reason}): ${wayOut}.`, { cause });
    this.unreached = unreached;
  }
}

const startOne = 'start one with "holdfast serve", or name another with --url or HOLDFAST_URL';

export function unansweredWithin(ms: number): Unreached {
  return { kind: "away", reason: `no answer within ${ms / 1000} s`, wayOut: startOne };
}

/** fetch wraps what happened in a failure that says nothing. */
export function unreachedBy(error: unknown, url: string): Unreached {
  let innermost = error;
  while (innermost instanceof Error && innermost.cause instanceof Error) innermost = innermost.cause;
  const { code } = innermost as { readonly code?: unknown };
  const name = typeof code === "string" ? code : "";
  const said = oneLine(innermost instanceof Error ? innermost.message || name : String(innermost));
  const mistrust = mistrustOf(name, said);
  if (mistrust !== null) return { kind: "untrusted", ...mistrust };
  const reason = Object.hasOwn(reasons, name) ? (reasons[name] ?? name) : said;
  if (speaksNoTls(name) && url.startsWith("https:")) {
    return { kind: "away", reason: "no TLS is spoken there", wayOut: `use ${url.replace(/^https/, "http")}` };
  }
  // All that a port of TLS does when it hears plain HTTP is to hang up.
  if (hangsUp.includes(name) && url.startsWith("http:")) {
    return { kind: "away", reason, wayOut: `if it serves TLS, use ${url.replace(/^http/, "https")}; else ${startOne}` };
  }
  return { kind: "away", reason, wayOut: startOne };
}

/** What is wrong with a certificate. The names are OpenSSL's, as Node passes them on. */
function mistrustOf(code: string, said: string): Pick<Unreached, "reason" | "wayOut"> | null {
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") {
    return {
      reason: `its certificate is for another name: ${said}`,
      wayOut:
        "use the name that stands in it, in --url and in that node's api.public_url " +
        "(NODE_EXTRA_CA_CERTS vouches for an authority, and for no name)",
    };
  }
  if (code === "CERT_HAS_EXPIRED" || code === "CERT_NOT_YET_VALID") {
    return { reason: `its certificate is not valid now: ${said}`, wayOut: "renew it at the node, or set the clock" };
  }
  if (!/CERT|SIGNATURE|ISSUER/.test(code)) return null;
  return {
    reason: `its certificate is not trusted: ${said}`,
    wayOut: "name the file with its authority's certificate in NODE_EXTRA_CA_CERTS",
  };
}

function speaksNoTls(code: string): boolean {
  return code.startsWith("ERR_SSL_") || code === "EPROTO";
}

const hangsUp: readonly string[] = ["UND_ERR_SOCKET", "ECONNRESET", "EPIPE"];

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connection refused",
  ECONNRESET: "connection reset",
  ENOTFOUND: "no such host",
  EAI_AGAIN: "the name of the host cannot be resolved now",
  EHOSTUNREACH: "host unreachable",
  ENETUNREACH: "network unreachable",
  UND_ERR_CONNECT_TIMEOUT: "no connection in time",
  UND_ERR_SOCKET: "connection closed",
};
