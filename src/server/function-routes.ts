import type { FastifyPluginAsyncTypebox } from "@fastify/type-provider-typebox";
import Type from "typebox";
import type { Json } from "../jobs/core/job.js";
import { toDatabase } from "./database-wait.js";
import { exactly } from "./fields.js";
import { hangUpOf } from "./hang-up.js";
import { limits as defaults } from "./limits.js";
import { closingOf, type RouteParts } from "./routes.js";

const usualTimeoutMs = 30_000;
const keyHeader = "idempotency-key";

/** As it is given: whether it can be a key is judged with the rest of the job. */
const keyOf = (given: string | string[] | undefined): string | undefined =>
  Array.isArray(given) ? given.join(", ") : given;

/** Functions: the leader of `scheduler` has them run by a node that has them, and answers with what they return. */
export const functionRoutes: FastifyPluginAsyncTypebox<RouteParts> = async (app, options) => {
  const { node, limits } = options;
  const closing = closingOf(app);

  app.post(
    "/v1/functions/:name",
    {
      // The job that it is, and the event that tells of it, say what was called.
      config: { permission: "jobs:write", audited: false },
      bodyLimit: limits.maxBodyBytes,
      schema: {
        tags: ["functions"],
        summary: "Runs a function on a node that has it, and answers with its result; the body is its payload",
        description: `With the header ${keyHeader} the same call twice is one: the second has the first one's answer.`,
        params: exactly({ name: Type.String({ minLength: 1, maxLength: 200, description: "A function's name" }) }),
        querystring: exactly({
          timeout_ms: Type.Optional(
            Type.Integer({
              minimum: 1,
              maximum: defaults.maxPollMs,
              description: "How long it may take; 30000 by default",
            }),
          ),
        }),
        body: Type.Unknown(),
        response: { 200: exactly({ job_id: Type.String(), result: Type.Unknown() }) },
      },
    },
    async ({ params: { name }, query, headers, body }, reply) => {
      const timeoutMs = query.timeout_ms ?? usualTimeoutMs;
      const call = {
        name,
        payload: (body ?? null) as Json,
        timeoutMs,
        idempotencyKey: keyOf(headers[keyHeader]),
        signal: hangUpOf(reply, closing),
      };
      const waitMs = timeoutMs + limits.databaseWaitMs;
      const { jobId, result } = await node.work.run(
        async () => await toDatabase(node, waitMs, async () => await node.functions.call(call)),
      );
      return { job_id: jobId, result };
    },
  );
  await Promise.resolve();
};
