import type { FastifyPluginAsyncTypebox } from "@fastify/type-provider-typebox";
import Type from "typebox";
import { fromDatabase } from "./database-wait.js";
import type { RouteParts } from "./routes.js";

const prometheusText = {
  content: { "text/plain": { schema: Type.String({ description: "Prometheus text format" }) } },
};

export const metricsRoutes: FastifyPluginAsyncTypebox<RouteParts> = async (app, options) => {
  const { node, limits } = options;
  const config = { permission: "monitoring:read" } as const;
  const tags = ["metrics"];

  app.get(
    "/metrics",
    { config, schema: { tags, summary: "The metrics of this node", response: { 200: prometheusText } } },
    async (_request, reply) => reply.type(node.registry.contentType).send(await node.registry.metrics()),
  );

  app.get(
    "/metrics/cluster",
    {
      config,
      schema: {
        tags,
        summary: "The metrics of every node, as each of them last left them in the database",
        response: { 200: prometheusText },
      },
    },
    async (_request, reply) => {
      const text = await fromDatabase(limits.databaseWaitMs, node.clusterMetrics());
      return reply.type(node.registry.contentType).send(text);
    },
  );
  await Promise.resolve();
};
