import type { FastifyPluginAsyncTypebox } from "@fastify/type-provider-typebox";
import Type from "typebox";
import { isReady } from "../membership/posture.js";
import { exactly, roleName } from "./fields.js";
import { aliveSchema, readinessSchema, roleSchema, showAlive, showReadiness, showRole } from "./health-answers.js";
import { postureOrUnknown } from "./role-headers.js";
import type { ServedNode } from "./served-node.js";

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
        response: { 200: aliveSchema },
      },
    },
    async () => showAlive(postureOrUnknown(node)),
  );

  app.get(
    "/ready",
    {
      config,
      schema: {
        tags,
        summary: "Whether work may be sent here; 503 with the checks that fail",
        response: { 200: readinessSchema, 503: readinessSchema },
      },
    },
    async (_request, reply) => {
      const found = node.readiness();
      reply.code(isReady(found) ? 200 : 503);
      return showReadiness(found);
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
        response: { 200: roleSchema },
      },
    },
    async ({ query }) => showRole(query.role === undefined ? postureOrUnknown(node) : node.posture(query.role)),
  );
  await Promise.resolve();
};
