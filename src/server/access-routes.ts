import Type, { type Static } from "typebox";
import type { AuditRow } from "../access/audit.js";
import { accessRoles, grantable } from "../access/permission.js";
import { longestLifetimeMs, longestTokenName } from "../access/token.js";
import { exactly, noBody, nullable, secondsOf, time } from "./fields.js";
import { cut, databasePage, firstOf, pageQuery, pageSchema } from "./page.js";
import { change, type RouteApp, type RouteParts, read, routesOf } from "./routes.js";
import { createdTokenSchema, showToken, tokenSchema } from "./token-answers.js";
import { withoutBodyIsEmpty } from "./validator.js";

const auditSchema = exactly({
  id: Type.String(),
  at: time,
  node_id: nullable(Type.String()),
  actor: Type.String(),
  action: Type.String(),
  target: nullable(Type.String()),
  outcome: Type.String({
    description: "An HTTP status; done for what was done straight in the database; begun where its end was never told",
  }),
  address: nullable(Type.String()),
});

export type AuditAnswer = Static<typeof auditSchema>;

/** What may be in it; the rest of the rules is `checkTokenWish`. */
const wishSchema = exactly({
  name: Type.String({
    minLength: 1,
    maxLength: longestTokenName,
    description: `1 to ${longestTokenName} printable characters, of this token alone`,
  }),
  role: Type.Enum([...accessRoles]),
  grants: Type.Optional(Type.Array(Type.Enum([...grantable]), { maxItems: grantable.length, uniqueItems: true })),
  expires_in_seconds: Type.Optional(
    Type.Integer({ minimum: 1, maximum: longestLifetimeMs / 1000, description: "At most ten years" }),
  ),
});

const tags = ["access"];

/** Tokens, and who did what. The hash of a token is in no answer, and its secret in one. */
export const accessRoutes = routesOf(listTokens, createToken, revokeToken, showAuditTrail);

function listTokens(app: RouteApp, parts: RouteParts): void {
  const { access } = parts.node;

  app.get(
    "/tokens",
    {
      config: { permission: "tokens" },
      schema: {
        tags,
        summary: "Every token, newest first, revoked and expired ones too",
        querystring: exactly(pageQuery),
        response: { 200: pageSchema(tokenSchema) },
      },
    },
    async ({ query }) => {
      const tokens = await read(parts, access.tokens());
      return cut(query, tokens.toReversed(), ({ id }) => id, showToken);
    },
  );
}

function createToken(app: RouteApp, parts: RouteParts): void {
  const { access } = parts.node;

  app.post(
    "/tokens",
    {
      config: { permission: "tokens" },
      schema: {
        tags,
        summary: "A new token; its secret is in this answer and nowhere else",
        body: wishSchema,
        response: { 201: createdTokenSchema },
      },
    },
    async (request, reply) => {
      const { name, role, grants = [], expires_in_seconds: lifetime } = request.body;
      const wish = { name, role, grants, lifetimeMs: lifetime === undefined ? null : lifetime * 1000 };
      const createdBy = request.caller?.name ?? "unknown";
      const { token, secret } = await change(parts, () => access.create(wish, createdBy));
      request.auditTarget = token.id;
      reply.code(201);
      return { token: showToken(token), secret };
    },
  );
}

function revokeToken(app: RouteApp, parts: RouteParts): void {
  const { access } = parts.node;

  app.delete(
    "/tokens/:id",
    {
      config: { permission: "tokens" },
      preValidation: withoutBodyIsEmpty,
      schema: {
        tags,
        summary: "Revokes a token; other nodes know with their next beat",
        params: exactly({ id: Type.String({ minLength: 1, maxLength: 64 }) }),
        body: noBody,
        response: { 200: exactly({ token: tokenSchema }) },
      },
    },
    async ({ params }) => {
      const token = await change(parts, () => access.revoke(params.id));
      return { token: showToken(token) };
    },
  );
}

function showAuditTrail(app: RouteApp, parts: RouteParts): void {
  const { access } = parts.node;

  app.get(
    "/audit",
    {
      config: { permission: "audit:read" },
      schema: {
        tags,
        summary: "Who changed what, newest first",
        querystring: exactly(pageQuery),
        response: { 200: pageSchema(auditSchema) },
      },
    },
    async ({ query }) => firstOf(query, await read(parts, access.audit(databasePage(query))), showAudit),
  );
}

function showAudit(row: AuditRow): AuditAnswer {
  const { id, at, nodeId, actor, action, target, outcome, address } = row;
  return { id, at: secondsOf(at), node_id: nodeId, actor, action, target, outcome, address };
}
