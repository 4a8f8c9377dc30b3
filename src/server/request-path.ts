import type { Span } from "@opentelemetry/api";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { HoldfastError } from "../errors.js";
import { HttpMetrics } from "../telemetry/http-metrics.js";
import { endRequestSpan, openRequestSpan, within } from "../telemetry/traces.js";
import { admit } from "./admission.js";
import { beginAudit, finishAudit } from "./audit-trail.js";
import { failureAnswer, notFound, sendAnswer } from "./failure.js";
import { forward, roleToForward } from "./forwarding.js";
import type { Limits } from "./limits.js";
import type { Listener } from "./listener.js";
import { ownerOf } from "./owned-paths.js";
import { roleHeaders } from "./role-headers.js";
import type { ServedNode } from "./served-node.js";
import { inviteBody, leavesBody } from "./unread-body.js";

declare module "fastify" {
  interface FastifyRequest {
    /** Null where nobody traces. */
    span: Span | null;
  }
}

/** Said of a request that reached no route: its path is the caller's own, and must not become a series or a line. */
export const unmatched = "unmatched";

/** What every request passes through, whatever it is for: admission, the headers, the audit, one line, one count. */
export function pathOfRequests(
  app: FastifyInstance,
  node: ServedNode,
  limits: Limits,
  isSurplus: Listener["isSurplus"],
): HttpMetrics {
  const metrics = new HttpMetrics(node.registry, node.config.metrics.prefix);
  let closing = false;
  app.addHook("preClose", async () => {
    closing = true;
    await Promise.resolve();
  });
  app.addHook("onClose", async () => {
    metrics.remove();
    await Promise.resolve();
  });

  decorateRequests(app);
  traceRequests(app);

  app.addHook("onRequest", async (request, reply) => {
    if (isSurplus(request.raw.socket)) {
      throw new HoldfastError("TOO_BUSY", "This node has as many connections as it takes: try again, or ask another.");
    }
    const refusal = admit(node, limits, request);
    if (refusal !== null) {
      const { role = "" } = ownerOf(request.routeOptions.url ?? "") ?? {};
      request.forwardRole = roleToForward(request, refusal, role);
      if (request.forwardRole === null) return sendAnswer(reply, refusal);
    }
    // Here and not by the handler for it, before which Fastify reads and parses the body of whoever sends one.
    if (request.routeOptions.url === undefined) throw notFound(request);
    inviteBody(request, reply);
    return await Promise.resolve(undefined);
  });

  // Its body was read by now, and is judged by the leader alone.
  app.addHook("preValidation", async (request, reply) => {
    const { forwardRole: role } = request;
    return role === null ? undefined : await forward(node, limits, role, { request, reply });
  });

  app.addHook("preHandler", async (request) => await beginAudit(node, limits, request));

  app.addHook("onSend", async (request, reply) => {
    await finishAudit(node, limits, request, reply);
    const { "cache-control": keeping, ...common } = commonHeaders(node);
    reply.headers({ ...common, ...request.toldBy });
    if (!reply.hasHeader("cache-control")) reply.header("cache-control", keeping);
    // A connection that stayed open after this answer would hold up the close, or the place of another.
    if (closing || isSurplus(request.raw.socket) || leavesBody(request)) reply.header("connection", "close");
  });

  app.addHook("onResponse", async (request, reply) => {
    const { method, routeOptions } = request;
    const route = routeOptions.url ?? unmatched;
    metrics.count(method, route, reply.statusCode);
    if (request.span !== null) endRequestSpan(request.span, { method, route, status: reply.statusCode });
    request.log.debug({ method, route, status: reply.statusCode, ms: Math.round(reply.elapsedTime) }, "answered");
    await Promise.resolve();
  });

  app.setErrorHandler((error, request, reply) => sendAnswer(reply, failureAnswer(node, request, error)));
  app.setNotFoundHandler((request, reply) => sendAnswer(reply, failureAnswer(node, request, notFound(request))));
  return metrics;
}

/** What later steps note down of a request. */
function decorateRequests(app: FastifyInstance): void {
  app.decorateRequest("caller", null);
  app.decorateRequest("auditLine", null);
  app.decorateRequest("auditTarget", null);
  app.decorateRequest("forwardRole", null);
  app.decorateRequest("toldBy", null);
}

function traceRequests(app: FastifyInstance): void {
  app.decorateRequest("span", null);
  // With a callback, so that everything after it runs within the span.
  app.addHook("onRequest", (request, _reply, done) => {
    const opened = openRequestSpan(request.method, request.headers);
    request.span = opened?.span ?? null;
    if (opened === null) done();
    else within(opened.inside, done);
  });
}

function commonHeaders(node: ServedNode): Record<string, string> {
  return { ...roleHeaders(node), "cache-control": "no-store", "x-content-type-options": "nosniff" };
}

/** A path that the router cannot read passes by the hooks, so the same is done here by hand. */
export function answerUnreadablePath(
  node: ServedNode,
  limits: Limits,
  { error, request, reply }: { readonly error: Error; readonly request: FastifyRequest; readonly reply: FastifyReply },
): void {
  reply.headers(commonHeaders(node));
  if (leavesBody(request)) reply.header("connection", "close");
  try {
    const refusal = admit(node, limits, request);
    sendAnswer(reply, refusal ?? failureAnswer(node, request, error));
  } catch (refused) {
    sendAnswer(reply, failureAnswer(node, request, refused));
  }
}
