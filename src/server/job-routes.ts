import Type, { type Static } from "typebox";
import { fromDatabase } from "./database-wait.js";
import { exactly, noQuery } from "./fields.js";
import { hangUpOf } from "./hang-up.js";
import {
  agentName,
  bigOf,
  foundJob,
  jobId,
  jobSchema,
  jobState,
  momentOf,
  namespaceName,
  newJobOf,
  newJobSchema,
  newJobsSchema,
  opName,
  showJob,
  showSubmitted,
  submittedSchema,
  takenBy,
} from "./job-answers.js";
import { limits as defaults } from "./limits.js";
import { oneOrMany } from "./one-or-many.js";
import { exactPage, pageQuery, pageSchema } from "./page.js";
import { change, closingOf, type RouteApp, type RouteParts, read, routesOf } from "./routes.js";

const params = exactly({ id: jobId });
const submission = oneOrMany("jobs", newJobSchema, newJobsSchema);
const tags = ["jobs"];

/** Jobs: every node shows them, and the leader of `scheduler` takes them in and changes them. */
export const jobRoutes = routesOf(submitJobs, listJobs, oneJob);

function submitJobs(app: RouteApp, parts: RouteParts): void {
  const { node, limits } = parts;
  const { jobs } = node;

  app.post<{ Body: Static<typeof newJobSchema> | Static<typeof newJobsSchema> }>(
    "/v1/jobs",
    {
      // The job itself, and the event that tells of it, say what was submitted.
      config: { permission: "jobs:write", audited: false },
      bodyLimit: limits.maxBodyBytes,
      validatorCompiler: submission.compile,
      schema: {
        tags,
        summary: "Submits a job, or up to 500 as { jobs }. 200 where it was there already",
        querystring: noQuery,
        body: submission.body,
        response: { 200: submittedSchema, 201: submittedSchema },
      },
    },
    async ({ body }, reply) => {
      const epoch = jobs.requireEpoch(bigOf(body.leader_epoch));
      const many = "jobs" in body ? body.jobs : null;
      for (const { leader_epoch: stated } of many ?? []) if (stated !== undefined) jobs.requireEpoch(bigOf(stated));
      const given = (many ?? [body as Static<typeof newJobSchema>]).map(newJobOf);
      const answers = await change(parts, async () => await jobs.submit(given, epoch));
      reply.code(answers.some(({ kind }) => kind === "created") ? 201 : 200);
      const shown = answers.map((answer) => {
        const taken = takenBy(answer);
        if (taken === null) return showSubmitted(answer, epoch);
        if (many === null) throw taken;
        return { job_id: answer.jobId, error: taken.code, message: taken.message };
      });
      return many === null ? (shown[0] ?? {}) : { jobs: shown };
    },
  );
}

function listJobs(app: RouteApp, parts: RouteParts): void {
  const { jobs } = parts.node;

  app.get(
    "/v1/jobs",
    {
      config: { permission: "monitoring:read" },
      schema: {
        tags,
        summary: "Jobs, newest first. A page may hold fewer than asked for while there are more",
        querystring: exactly({
          state: Type.Optional(jobState),
          op: Type.Optional(opName),
          namespace: Type.Optional(namespaceName),
          agent: Type.Optional(agentName),
          since: Type.Optional(
            Type.String({ maxLength: 40, description: "Submitted at or after this: seconds since 1970, or ISO 8601" }),
          ),
          ...pageQuery,
        }),
        response: { 200: pageSchema(jobSchema) },
      },
    },
    async ({ query }) => {
      const { state, op, namespace, agent, since } = query;
      const filter = {
        ...(state === undefined ? {} : { state }),
        ...(op === undefined ? {} : { op }),
        ...(namespace === undefined ? {} : { namespace }),
        ...(agent === undefined ? {} : { agent }),
        ...(since === undefined ? {} : { since: momentOf("since", since).getTime() }),
      };
      const page = await read(parts, jobs.book.jobs(filter, exactPage(query)));
      return { items: page.jobs.map(showJob), next_cursor: page.next };
    },
  );
}

function oneJob(app: RouteApp, { node, limits }: RouteParts): void {
  const { jobs } = node;
  const closing = closingOf(app);

  app.get(
    "/v1/jobs/:id",
    {
      config: { permission: "monitoring:read" },
      schema: {
        tags,
        summary: "One job; with wait_ms when it is finished, or as it is after so long",
        params,
        querystring: exactly({
          wait_ms: Type.Optional(Type.Integer({ minimum: 0, maximum: defaults.maxPollMs })),
        }),
        response: { 200: jobSchema },
      },
    },
    async ({ params: { id }, query: { wait_ms: waitMs = 0 } }, reply) => {
      const waiting = jobs.wait(id, waitMs, hangUpOf(reply, closing));
      return showJob(foundJob(id, await fromDatabase(waitMs + limits.databaseWaitMs, waiting)));
    },
  );
}
