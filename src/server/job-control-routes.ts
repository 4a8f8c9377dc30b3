import type { FastifyPluginAsyncTypebox } from "@fastify/type-provider-typebox";
import Type from "typebox";
import { exactly, noQuery } from "./fields.js";
import { bigOf, changedJobSchema, foundJob, jobId, refusedIn, statedEpoch } from "./job-answers.js";
import { change, type RouteParts } from "./routes.js";
import { withoutBodyIsEmpty } from "./validator.js";

const params = exactly({ id: jobId });
const tags = ["jobs"];

/** What operators do to jobs, at the leader of `scheduler`. */
export const jobControlRoutes: FastifyPluginAsyncTypebox<RouteParts> = async (app, parts) => {
  const { jobs } = parts.node;

  app.delete(
    "/v1/jobs/:id",
    {
      config: { permission: "control" },
      schema: {
        tags,
        summary: "Cancels a job: a result that comes later changes nothing",
        params,
        querystring: exactly({ leader_epoch: Type.Optional(statedEpoch) }),
        response: { 200: changedJobSchema },
      },
    },
    async ({ params: { id }, query }) => {
      const epoch = jobs.requireEpoch(bigOf(query.leader_epoch));
      const answer = await change(parts, async () => await jobs.cancel(id));
      if (answer.kind === "finished") throw refusedIn(answer.state, id, "cancelled");
      foundJob(id, answer.kind === "unknown" ? null : answer);
      return { job_id: id, state: "cancelled" as const, leader_epoch: Number(epoch) };
    },
  );

  app.post(
    "/v1/jobs/:id/redrive",
    {
      config: { permission: "control" },
      preValidation: withoutBodyIsEmpty,
      schema: {
        tags,
        summary: "Queues a job again that is dead, failed or cancelled, with all its attempts",
        params,
        querystring: noQuery,
        body: exactly({ leader_epoch: Type.Optional(statedEpoch) }),
        response: { 200: changedJobSchema },
      },
    },
    async ({ params: { id }, body }) => {
      const epoch = jobs.requireEpoch(bigOf(body.leader_epoch));
      const answer = await change(parts, async () => await jobs.redrive(id));
      if (answer.kind === "unneeded") throw refusedIn(answer.state, id, "redriven");
      foundJob(id, answer.kind === "unknown" ? null : answer);
      return { job_id: id, state: "queued" as const, leader_epoch: Number(epoch) };
    },
  );
  await Promise.resolve();
};
