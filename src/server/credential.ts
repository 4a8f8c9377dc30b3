import type { FastifyRequest } from "fastify";
import type { Caller } from "../access/access.js";
import { HoldfastError } from "../errors.js";
import { hostOf, isForeignPage } from "./foreign-page.js";
import { isMutating } from "./owned-paths.js";
import type { ServedNode } from "./served-node.js";
import { secretInCookie } from "./session-cookie.js";

/** What a caller shows: a token as a program sends it, or the session of a page, which stands in where that is missing. */
interface Credential {
  readonly secret: string;
  readonly kind: "bearer" | "session";
}

/** No form and no page of another origin can set this header: whoever does is the dashboard, or a program. */
const mark = { header: "x-holdfast-request", value: "dashboard" } as const;

export function credentialOf({ headers }: Pick<FastifyRequest, "headers">): Credential | null {
  const { authorization, cookie } = headers;
  if (authorization === undefined) {
    const secret = secretInCookie(cookie);
    return secret === null ? null : { secret, kind: "session" };
  }
  const [, secret] = authorization.match(/^bearer +([\x21-\x7e]{1,512})$/i) ?? [];
  return secret === undefined ? null : { secret, kind: "bearer" };
}

/**
 * Null without a token, with an unknown one, and while the tokens could not be read. A browser sends its cookies by itself, so
 * a session must also show that our own page asks.
 */
export function authenticate(node: Pick<ServedNode, "access" | "config">, request: FastifyRequest): Caller | null {
  const credential = credentialOf(request);
  const caller = credential === null ? null : node.access.authenticate(credential.secret);
  if (caller !== null && credential?.kind === "session") refuseForgery(node, request);
  return caller;
}

function refuseForgery(node: Pick<ServedNode, "config">, { method, headers }: FastifyRequest): void {
  refuseForeignOrigin(node, { method, headers });
  if (isMutating(method) && headers[mark.header] !== mark.value) {
    throw new HoldfastError(
      "FORBIDDEN",
      `A change by a session carries the header ${mark.header}: ${mark.value}; programs send Authorization: Bearer TOKEN.`,
    );
  }
}

/** A proxy in front may have changed the Host header; then api.public_url says how browsers know this node. */
export function refuseForeignOrigin(
  { config }: Pick<ServedNode, "config">,
  { method, headers }: Pick<FastifyRequest, "method" | "headers">,
): void {
  if (isForeignPage(method, headers, [headers.host, hostOf(config.api.publicUrl)])) {
    throw new HoldfastError(
      "FORBIDDEN",
      "A session answers no page of another origin; behind a proxy, pass the Host header on or set api.public_url.",
    );
  }
}
