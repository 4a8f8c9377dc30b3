import type { FastifyReply, FastifyRequest } from "fastify";
import { HoldfastError } from "../errors.js";
import type { Answer } from "./answer.js";
import { credentialOf } from "./credential.js";
import { hangUpOf } from "./hang-up.js";
import { addressOf } from "./leader-address.js";
import type { Limits } from "./limits.js";
import { callNode, type NodeReply } from "./node-call.js";
import { isOpenDoor } from "./open-door.js";
import { postureOrUnknown } from "./role-headers.js";
import type { ServedNode } from "./served-node.js";

declare module "fastify" {
  interface FastifyRequest {
    /** The role whose leader gets the request, once its body was read; null where it is answered here. */
    forwardRole: string | null;
    /** The headers of the node that acted, where that was another one. */
    toldBy: Readonly<Record<string, string>> | null;
  }
}

const wish = "x-holdfast-forward";
const trace = "x-holdfast-forwarded-by";

/**
 * The role, where its leader should get what was refused here: the caller wants that, and there is one. What was sent on once is
 * not sent on again.
 */
export function roleToForward(request: FastifyRequest, { body }: Answer, role: string): string | null {
  const { headers, routeOptions, raw } = request;
  const isRefused = body.error === "NOT_LEADER" && body.leader_id !== null;
  const isWanted = headers[wish] === "leader" && headers[trace] === undefined;
  // A path of ours, and not a whole URL that names another host.
  const isOurs = routeOptions.url !== undefined && raw.url?.startsWith("/") === true;
  return isRefused && isWanted && isOurs ? role : null;
}

/** Sends the request on to the leader, with the caller's own token, and its answer back. */
export async function forward(
  node: ServedNode,
  limits: Limits,
  role: string,
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
): Promise<FastifyReply> {
  const { leaderId } = postureOrUnknown(node, role);
  if (leaderId === null || leaderId === node.id) {
    throw new HoldfastError("NOT_LEADER", "Nobody leads at the moment.", { details: { role } });
  }
  const address = await addressOf(node, limits, leaderId);
  const { method, raw, body } = request;
  const told = await callNode(
    {
      address,
      method,
      path: raw.url ?? "/",
      headers: headersFor(node, request),
      body: body === undefined ? null : JSON.stringify(body),
      signal: hangUpOf(reply),
    },
    limits,
  );
  request.log.debug({ node_id: node.id, leader_id: leaderId, role, status: told.status }, "sent on to the leader");
  return passBack(told, address, { request, reply });
}

function headersFor(node: ServedNode, request: FastifyRequest): Record<string, string> {
  const secret = isOpenDoor(node) ? null : (credentialOf(request)?.secret ?? null);
  return {
    accept: "application/json",
    // A name that HTTP cannot carry must not fail the request.
    [trace]: /^[\x21-\x7e][\x20-\x7e]*$/.test(node.id) ? node.id : "another node",
    ...(secret === null ? {} : { authorization: `Bearer ${secret}` }),
    ...(request.body === undefined ? {} : { "content-type": "application/json" }),
  };
}

/** Only what a node of ours can have said: JSON, or nothing, under its name. */
function passBack(
  { status, headers, body }: NodeReply,
  address: URL,
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
): FastifyReply {
  const isJson = headers["content-type"]?.startsWith("application/json") === true;
  const isRedirect = status >= 300 && status < 400;
  if (headers["x-holdfast-node"] === undefined || isRedirect || (body.length > 0 && !isJson)) {
    throw new HoldfastError("UNKNOWN_OUTCOME", `What answers at ${address.origin} is no node of this cluster.`);
  }
  const told = ["node", "role", "leader-epoch", "leader-id"].flatMap((name) => {
    const value = headers[`x-holdfast-${name}`];
    return typeof value === "string" ? [[`x-holdfast-${name}`, value] as const] : [];
  });
  request.toldBy = Object.fromEntries(told);
  reply.code(status);
  if (body.length === 0) return reply.send();
  return reply.type("application/json; charset=utf-8").send(body);
}
