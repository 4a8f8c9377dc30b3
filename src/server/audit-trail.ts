import type { FastifyReply, FastifyRequest } from "fastify";
import type { AuditEntry } from "../access/audit.js";
import { fromDatabase } from "./database-wait.js";
import type { Limits } from "./limits.js";
import { isMutating } from "./owned-paths.js";
import type { ServedNode } from "./served-node.js";

declare module "fastify" {
  interface FastifyRequest {
    /** The line that was begun for this call. */
    auditLine: string | null;
    /** What was acted upon, where the path does not say it. */
    auditTarget: string | null;
  }
}

type AuditedNode = Pick<ServedNode, "access" | "log" | "readiness">;

/**
 * What a known caller changes, or reads where the route says that this is audited too, has its line in the audit before it is
 * done: without the line it is not done. Never a body, a query or a secret.
 */
export async function beginAudit(node: AuditedNode, limits: Limits, request: FastifyRequest): Promise<void> {
  if (!isAudited(request) || request.routeOptions.url === undefined) return;
  request.auditLine = await fromDatabase(limits.databaseWaitMs, node.access.beginAudit(entryOf(request)));
}

/**
 * The outcome, before the answer leaves. A call that was refused before it began gets its line here; what nobody could have
 * done (no such endpoint, another node leads) gets none, and neither does a caller without a name: anybody could fill the
 * table.
 */
export async function finishAudit(
  node: AuditedNode,
  limits: Limits,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const { access, log } = node;
  const refused = reply.statusCode === 403;
  const isIntruder = refused && request.caller !== null && isMutating(request.method);
  if (!isIntruder && (!isAudited(request) || request.routeOptions.url === undefined)) return;
  const outcome = String(reply.statusCode);
  const recorded = async (): Promise<void> => {
    const line = request.auditLine ?? (await access.beginAudit(entryOf(request)));
    await access.finishAudit(line, outcome, request.auditTarget);
  };
  const waited = fromDatabase(limits.databaseWaitMs, recorded()).catch((error: unknown) => {
    log.warn({ ...entryOf(request), outcome, err: error }, "the outcome of a call could not be recorded");
  });
  // Where the database is away, the caller has waited for it already.
  if (reply.statusCode < 500 && node.readiness().database) await waited;
}

function isAudited({ caller, method, routeOptions }: FastifyRequest): boolean {
  return caller !== null && (routeOptions.config.audited ?? isMutating(method));
}

function entryOf(request: FastifyRequest): AuditEntry {
  const { caller, method, routeOptions, params, ip } = request;
  return {
    actor: caller?.name ?? "",
    action: `${method} ${routeOptions.url ?? "(no such endpoint)"}`,
    target: request.auditTarget ?? (routeOptions.url === undefined ? null : targetOf(params)),
    address: ip,
  };
}

function targetOf(params: unknown): string | null {
  const values = typeof params === "object" && params !== null ? Object.values(params) : [];
  return typeof values[0] === "string" ? values[0] : null;
}
