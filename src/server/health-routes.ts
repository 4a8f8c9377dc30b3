import type { FastifyPluginAsyncTypebox } from "@fastify/type-provider-typebox";
import Type from "typebox";
import { isReady } from "../membership/posture.js";
import { epoch, exactly, nullable, postureName, roleName } from "./fields.js";
import { postureOrUnknown } from "./role-headers.js";
import type { ServedNode } from "./served-node.js";

const readiness = exactly({
  database: Type.Boolean(),
  migrations: Type.Boolean(),
  registered: Type.Boolean(),
  min_nodes: Type.Boolean(),
  draining: Type.Boolean(),
});

const leader = { leader_epoch: nullable(epoch), leader_id: nullable(Type.String()) };

/** Whether the node lives, is ready, and where it stands. All of it from memory: it must answer while nothing else does. */
export const healthRoutes: FastifyPluginAsyncTypebox<{ node: ServedNode }> = async (app, { node }) => {
  const config = { permission: "anonymous" } as const;
  const tags = ["health"];

  app.get(
    "/health",
    {
      config,
      schema: { tags, summary: "The process answers", response: { 200: exactly({ status: Type.Literal("ok") }) } },
    },
    async () => ({ status: "ok" as const }),
  );

  app.get(
    "/healthz",
    {
      config,
      schema: {
        tags,
        summary: "The process answers, and where it stands for the primary role",
        response: { 200: exactly({ ok: Type.Literal(true), role: postureName, ...leader }) },
      },
    },
    async () => {
      const { role, leaderEpoch, leaderId } = postureOrUnknown(node);
      return { ok: true as const, role, leader_epoch: numberOf(leaderEpoch), leader_id: leaderId };
    },
  );

  app.get(
    "/ready",
    {
      config,
      schema: {
        tags,
        summary: "Whether work may be sent here; 503 with the checks that fail",
        response: { 200: readiness, 503: readiness },
      },
    },
    async (_request, reply) => {
      const found = node.readiness();
      const { database, migrations, registered, minNodes, draining } = found;
      reply.code(isReady(found) ? 200 : 503);
      return { database, migrations, registered, min_nodes: minNodes, draining };
    },
  );

  app.get(
    "/role",
    {
      config,
      schema: {
        tags,
        summary: "Where this node stands for a role",
        querystring: exactly({ role: Type.Optional(roleName) }),
        response: {
          200: exactly({ node_id: Type.String(), role: postureName, ...leader, leader_url: nullable(Type.String()) }),
        },
      },
    },
    async ({ query }) => {
      const posture = query.role === undefined ? postureOrUnknown(node) : node.posture(query.role);
      return {
        node_id: node.id,
        role: posture.role,
        leader_epoch: numberOf(posture.leaderEpoch),
        leader_id: posture.leaderId,
        leader_url: posture.leaderUrl,
      };
    },
  );
  await Promise.resolve();
};

const numberOf = (value: bigint | null): number | null => (value === null ? null : Number(value));
