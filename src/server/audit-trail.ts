import type { FastifyReply, FastifyRequest } from "fastify";
import { fromDatabase } from "./database-wait.js";
import type { Limits } from "./limits.js";
import { isMutating } from "./owned-paths.js";
import type { ServedNode } from "./served-node.js";

declare module "fastify" {
  interface FastifyRequest {
    /** What was acted upon, where the path does not say it. */
    auditTarget: string | null;
  }
}

/**
 * Records what a known caller tried to change, or to read where the route says that this is audited too, refused or not,
 * before the answer leaves. What nobody could have done (no such
 * endpoint, another node leads) is no line, and neither is a caller without a name: anybody could fill the table.
 * Never a body, a query or a secret.
 */
export async function recordCall(
  node: Pick<ServedNode, "access" | "log" | "readiness">,
  limits: Limits,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const { caller, method, routeOptions } = request;
  const refused = reply.statusCode === 403;
  const audited = isMutating(method) || routeOptions.config.audited === true;
  if (caller === null || !audited || (routeOptions.url === undefined && !refused)) return;
  const entry = {
    actor: caller.name,
    action: `${method} ${routeOptions.url ?? "(no such endpoint)"}`,
    target: request.auditTarget ?? (routeOptions.url === undefined ? null : targetOf(request.params)),
    outcome: String(reply.statusCode),
    address: request.ip,
  };
  const recorded = fromDatabase(limits.databaseWaitMs, node.access.record(entry)).catch((error: unknown) => {
    const lost = { ...entry, err: error };
    if (reply.statusCode < 400) node.log.error(lost, "AUDIT LOST: this was done, and could not be recorded");
    else node.log.warn(lost, "a refused call could not be recorded");
  });
  // Where the database is away, the caller has waited for it already.
  if (reply.statusCode < 500 && node.readiness().database) await recorded;
}

function targetOf(params: unknown): string | null {
  const values = typeof params === "object" && params !== null ? Object.values(params) : [];
  return typeof values[0] === "string" ? values[0] : null;
}
