import type { FastifyReply, FastifyRequest } from "fastify";
import { HoldfastError } from "../errors.js";

/** A body that was announced and that nobody has read: whether to ask for it, and what becomes of the connection without. */

const invitation = "100-continue";

const expects = ({ headers }: FastifyRequest): string | undefined => headers.expect?.trim().toLowerCase();

/** Of what a client may expect, HTTP knows one thing. */
export function checkExpectation(request: FastifyRequest): void {
  const expected = expects(request);
  if (expected !== undefined && expected !== invitation) {
    throw new HoldfastError("BAD_REQUEST", `The Expect header may say ${invitation} here, and nothing else.`);
  }
}

/** Tells a client that waits with its body to send it. Only for a request that was admitted. */
export function inviteBody(request: FastifyRequest, reply: FastifyReply): void {
  if (expects(request) === invitation && request.raw.httpVersion !== "1.0" && isAnnounced(request)) {
    reply.raw.writeContinue();
  }
}

/**
 * Whether the answer is the connection's last: no endpoint takes this body, or its sender expects what nobody does, so nobody
 * will read it, and nothing that follows it can be told from it. Where a client was not invited, Node.js sees to that.
 */
export function leavesBody(request: FastifyRequest): boolean {
  const isRefused = request.routeOptions.url === undefined || ![undefined, invitation].includes(expects(request));
  return isRefused && isAnnounced(request);
}

function isAnnounced({ headers }: FastifyRequest): boolean {
  return headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0";
}
