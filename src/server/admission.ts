import type { FastifyRequest } from "fastify";
import { anyone, type Caller } from "../access/access.js";
import { HoldfastError } from "../errors.js";
import type { Answer } from "./answer.js";
import { authenticate, credentialOf } from "./credential.js";
import { leaderGuard } from "./leader-guard.js";
import type { Limits } from "./limits.js";
import { isOpenDoor, refuseForeignPages } from "./open-door.js";
import { isMutating, ownerOf } from "./owned-paths.js";
import type { RouteRight } from "./route-rights.js";
import type { ServedNode } from "./served-node.js";
import { checkExpectation } from "./unread-body.js";

declare module "fastify" {
  interface FastifyRequest {
    /** Who calls; null while unknown, or where nobody has to say. */
    caller: Caller | null;
  }
}

/**
 * What comes before everything else, in this order: the size of the head, who calls, whether they may, and whether this node
 * leads. Nothing of the body has been read by then. Throws what the caller is refused with; answers with what to send where
 * the role refuses, and with null where the request may go on.
 */
export function admit(node: ServedNode, limits: Limits, request: FastifyRequest): Answer | null {
  checkHead(limits, request);
  const open = isOpenDoor(node);
  if (open) refuseForeignPages(request.method, request.headers);
  request.caller = open ? anyone : authenticate(node, request);
  const { url = request.url, config } = request.routeOptions;
  const right = config.permission;
  const owner = isMutating(request.method) ? ownerOf(url) : null;
  authorize(request, right, owner?.permissions ?? []);
  return owner === null ? null : leaderGuard(node, owner.role, { endsWork: config.endsWork === true });
}

function checkHead(limits: Limits, request: FastifyRequest): void {
  const { raw, url } = request;
  if (raw.headers.host === undefined && raw.httpVersion !== "1.0") {
    throw new HoldfastError("BAD_REQUEST", "A request of HTTP/1.1 has a Host header.");
  }
  if (raw.rawHeaders.length > limits.headerCount * 2) {
    throw new HoldfastError("BAD_REQUEST", `A request has at most ${limits.headerCount} headers here.`);
  }
  if (url.length > limits.urlLength) {
    throw new HoldfastError("BAD_REQUEST", `A URL has at most ${limits.urlLength} characters here.`);
  }
  checkExpectation(request);
}

/** `right` is undefined where no route was found. Writing below an owned path takes one of its permissions even then. */
function authorize(request: FastifyRequest, right: RouteRight | undefined, otherwise: readonly RouteRight[]): void {
  const { caller, headers } = request;
  const wanted = right === undefined ? otherwise : [right];
  if (wanted.length === 0 || wanted.includes("anonymous")) return;
  if (caller === null) {
    const isBare = headers.authorization === undefined && credentialOf(request) === null;
    const problem = isBare ? "This takes a token" : "This token is not known here, or it has expired or was revoked";
    throw new HoldfastError("UNAUTHORIZED", `${problem}: send one as Authorization: Bearer TOKEN.`);
  }
  if (!wanted.some((one) => one !== "anonymous" && caller.permissions.has(one))) {
    throw new HoldfastError("FORBIDDEN", `The token "${caller.name}" lacks the permission ${wanted.join(" or ")}.`);
  }
}
