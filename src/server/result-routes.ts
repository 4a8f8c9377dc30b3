import type { FastifyPluginAsyncTypebox } from "@fastify/type-provider-typebox";
import type { Static } from "typebox";
import { agentOf, requireAgent } from "./bound-agent.js";
import { fromDatabase, toDatabase } from "./database-wait.js";
import { noQuery } from "./fields.js";
import { bigOf } from "./job-answers.js";
import {
  acceptedSchema,
  type ResultBody,
  reportedOf,
  resultSchema,
  resultsSchema,
  showResult,
  showResultOfMany,
} from "./lease-answers.js";
import { oneOrMany } from "./one-or-many.js";
import type { RouteParts } from "./routes.js";

const report = oneOrMany("results", resultSchema, resultsSchema);

/** What came of the work of agents. A leader that drains still takes it. */
export const resultRoutes: FastifyPluginAsyncTypebox<RouteParts> = async (app, options) => {
  const { node, limits } = options;
  const { jobs } = node;

  /** Whose lease it is, where nobody says and this leader has not given it: the job knows. */
  const reporterOf = async (body: ResultBody): Promise<string> => {
    const job = await fromDatabase(limits.databaseWaitMs, jobs.book.job(body.job_id));
    // Where the lease is another, no name would make the result count.
    return job?.leaseId === body.lease_id ? (job.agent ?? "") : "";
  };

  app.post<{ Body: Static<typeof resultSchema> | Static<typeof resultsSchema> }>(
    "/v1/results",
    {
      config: { permission: "agent", audited: false, endsWork: true },
      bodyLimit: limits.maxBodyBytes,
      validatorCompiler: report.compile,
      schema: {
        tags: ["agents"],
        summary: "What came of a task, or of up to 500 as { results }, with an answer each",
        querystring: noQuery,
        body: report.body,
        response: { 200: acceptedSchema },
      },
    },
    async ({ body, caller }) => {
      const many = "results" in body ? body.results : null;
      const results = many ?? [body as ResultBody];
      const { agent: common } = body;
      for (const { agent } of [body, ...results]) if (agent !== undefined) requireAgent(caller, agent);
      const epoch = jobs.requireEpoch(bigOf(body.leader_epoch));
      for (const { leader_epoch: stated } of results) if (stated !== undefined) jobs.requireEpoch(bigOf(stated));
      const bound = agentOf(caller);
      const reported: ReturnType<typeof reportedOf>[] = [];
      for (const one of results) {
        const known = bound ?? one.agent ?? common ?? jobs.holderOf(one.lease_id);
        reported.push(reportedOf(one, known ?? (await reporterOf(one))));
      }
      const answers = await toDatabase(node, limits.databaseWaitMs, async () => await jobs.report(reported, epoch));
      if (many === null) return showResult(body as ResultBody, answers[0] as never);
      return { results: many.map((one, index) => showResultOfMany(node, one, answers[index] as never)) };
    },
  );
  await Promise.resolve();
};
