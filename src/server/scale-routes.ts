import type { FastifyPluginAsyncTypebox } from "@fastify/type-provider-typebox";
import Type from "typebox";
import { fromDatabase } from "./database-wait.js";
import { exactly } from "./fields.js";
import type { RouteParts } from "./routes.js";

const usualTasks = 8;

const scaleSchema = exactly({
  desired_workers: Type.Integer({ minimum: 0, description: "value / tasks_per_worker, rounded up" }),
  queue_depth: Type.Integer({
    minimum: 0,
    description: "Jobs that are queued, those that wait for their time included",
  }),
  oldest_seconds: Type.Number({
    minimum: 0,
    description: "For how long the first of those that are ready has been so",
  }),
  value: Type.Integer({ minimum: 0, description: "Jobs that are queued or leased: what there is to do" }),
});

/** For an autoscaler: what there is to do, and how many agents that takes. */
export const scaleRoutes: FastifyPluginAsyncTypebox<RouteParts> = async (app, options) => {
  const { node, limits } = options;
  app.get(
    "/cluster/scale",
    {
      config: { permission: "monitoring:read" },
      schema: {
        tags: ["cluster"],
        summary: "How many agents the jobs would keep busy",
        querystring: exactly({
          tasks_per_worker: Type.Optional(
            Type.Integer({
              minimum: 1,
              maximum: 1_000,
              description: `How many tasks one agent works on at once; ${usualTasks} by default`,
            }),
          ),
        }),
        response: { 200: scaleSchema },
      },
    },
    async ({ query: { tasks_per_worker: tasks = usualTasks } }) => {
      const { counts, oldestReadyMs } = await fromDatabase(limits.databaseWaitMs, node.jobs.book.standing());
      const value = counts.queued + counts.leased;
      return {
        desired_workers: Math.ceil(value / tasks),
        queue_depth: counts.queued,
        oldest_seconds: (oldestReadyMs ?? 0) / 1_000,
        value,
      };
    },
  );
  await Promise.resolve();
};
