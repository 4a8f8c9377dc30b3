import type { FastifyRequest } from "fastify";
import Type, { type Static } from "typebox";
import type { Caller } from "../access/access.js";
import { permissions } from "../access/permission.js";
import { HoldfastError } from "../errors.js";
import { version } from "../version.js";
import { refuseForeignOrigin } from "./credential.js";
import { exactly, noBody, noQuery, nullable, secondsOrNull, time } from "./fields.js";
import { isOpenDoor } from "./open-door.js";
import { type RouteApp, type RouteParts, routesOf } from "./routes.js";
import { cookieOf, noCookie } from "./session-cookie.js";
import { withoutBodyIsEmpty } from "./validator.js";

const who = {
  name: nullable(Type.String({ description: "Of the token" })),
  role: nullable(Type.String({ description: "Of the token: viewer, operator, admin or agent" })),
  permissions: Type.Array(Type.Enum([...permissions])),
  expires_at: nullable(time),
};

const signedInSchema = exactly(who);

const sessionSchema = exactly({
  signed_in: Type.Boolean(),
  open: Type.Boolean({ description: "No token exists: whoever is at this machine may do everything" }),
  ...who,
  node_id: Type.String(),
  cluster: Type.String(),
  version: Type.String(),
});

const tags = ["session"];

/** Who looks at the dashboard. A session is a token in a cookie; the node keeps nothing of it. */
export const sessionRoutes = routesOf(whoLooks, signIn, signOut);

function whoLooks(app: RouteApp, { node }: RouteParts): void {
  const { config } = node;

  app.get(
    "/session",
    {
      config: { permission: "anonymous" },
      schema: {
        tags,
        summary: "Who looks at the dashboard, and what they may do",
        querystring: noQuery,
        response: { 200: sessionSchema },
      },
    },
    async ({ caller }) => {
      const open = isOpenDoor(node);
      const { name: cluster } = config.cluster;
      return { signed_in: caller !== null && !open, open, ...showWho(caller), node_id: node.id, cluster, version };
    },
  );
}

function signIn(app: RouteApp, { node, limits }: RouteParts): void {
  const { access } = node;

  app.post(
    "/session",
    {
      config: { permission: "anonymous" },
      schema: {
        tags,
        summary: "Signs in: the token becomes a cookie that only this node's pages send",
        body: exactly({ token: Type.String({ minLength: 1, maxLength: 512 }) }),
        response: { 200: signedInSchema },
      },
    },
    async (request, reply) => {
      refuseForeignOrigin(node, request);
      const { token } = request.body;
      const caller = access.authenticate(token);
      if (caller === null) {
        throw new HoldfastError("UNAUTHORIZED", "This token is not known here, or it has expired or was revoked.");
      }
      const maxAgeMs = Math.min(limits.sessionMs, access.remainingMs(caller));
      // From here on the audit knows who it was.
      request.caller ??= caller;
      request.auditTarget = caller.tokenId;
      reply.header("set-cookie", cookieOf(token, { maxAgeMs, isSecure: isSecure(request) }));
      return showWho(caller);
    },
  );
}

function signOut(app: RouteApp): void {
  app.delete(
    "/session",
    {
      // Nobody is kept from signing out because the database is away.
      config: { permission: "anonymous", audited: false },
      preValidation: withoutBodyIsEmpty,
      schema: { tags, summary: "Signs out: the cookie is taken back", body: noBody, response: { 200: noBody } },
    },
    async (_request, reply) => {
      reply.header("set-cookie", noCookie);
      return {};
    },
  );
}

function showWho(caller: Caller | null): Static<typeof signedInSchema> {
  return {
    name: caller?.name ?? null,
    role: caller?.role ?? null,
    permissions: [...(caller?.permissions ?? [])],
    expires_at: secondsOrNull(caller?.expiresAt ?? null),
  };
}

/** As the browser sees it, which may be more than this node does: a proxy in front may encrypt. */
function isSecure({ raw, headers }: FastifyRequest): boolean {
  return "encrypted" in raw.socket || headers.origin?.startsWith("https:") === true;
}
