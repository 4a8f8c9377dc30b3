/**
 * `holdfast/fastify`: Holdfast's own guard and headers for your Fastify server.
 *
 *   await app.register(holdfast, { node });
 *   app.post("/orders", { onRequest: app.leaderOnly("scheduler") }, async () => ...);
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { type GuardOptions, leaderGuard } from "./server/leader-guard.js";
import { type GuardedNode, roleHeaders } from "./server/role-headers.js";

type RequestHook = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply | undefined>;

declare module "fastify" {
  interface FastifyInstance {
    /** A hook for `onRequest`: passes only on the role's leader, and answers 409 or 503 elsewhere, before the body is read. */
    leaderOnly(role: string, options?: GuardOptions): RequestHook;
  }
}

/** What the plugin is registered with. */
export interface HoldfastPluginOptions {
  readonly node: GuardedNode;
  /** Of which role the headers speak; the node's primary role by default. */
  readonly role?: string | undefined;
}

/** Puts the role headers on every answer, errors too, and adds `app.leaderOnly(role)`. */
export async function holdfast(app: FastifyInstance, { node, role }: HoldfastPluginOptions): Promise<void> {
  app.decorate("leaderOnly", (wanted: string, options?: GuardOptions) => leaderOnly(node, wanted, options));
  app.addHook("onSend", async (_request, reply) => {
    reply.headers(roleHeaders(node, role));
    await Promise.resolve();
  });
  await Promise.resolve();
}

// Without it the hook and the decorator would be seen only inside of this plugin, and not by the routes beside it.
Object.assign(holdfast, {
  [Symbol.for("skip-override")]: true,
  [Symbol.for("fastify.display-name")]: "holdfast",
});

function leaderOnly(node: GuardedNode, role: string, options?: GuardOptions): RequestHook {
  leaderGuard(node, role); // A malformed name is found out when the route is made, and not with its first request.
  return async (_request, reply) => {
    const refusal = leaderGuard(node, role, options);
    if (refusal === null) return await Promise.resolve(undefined);
    return reply.code(refusal.status).headers(refusal.headers).send(refusal.body);
  };
}
