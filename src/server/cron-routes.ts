import Type from "typebox";
import { cronName, cronSchema, showCron, showTick, tickSchema, triggeredSchema } from "./cron-answers.js";
import { exactly, noQuery } from "./fields.js";
import { bigOf, statedEpoch } from "./job-answers.js";
import { cut, databasePage, firstOf, pageQuery, pageSchema } from "./page.js";
import { change, type RouteApp, type RouteParts, read, routesOf } from "./routes.js";
import { withoutBodyIsEmpty } from "./validator.js";

const params = exactly({ name: cronName });
const body = exactly({ leader_epoch: Type.Optional(statedEpoch) });
const tags = ["crons"];
const steered = { pause: "It does not fire until it is resumed", resume: "It begins anew, now" } as const;

/** Crons: every node shows them, and the leader of `scheduler` steers them. */
export const cronRoutes = routesOf(listCrons, listTicks, triggerCron, steerCron);

function listCrons(app: RouteApp, parts: RouteParts): void {
  const { crons } = parts.node;

  app.get(
    "/v1/crons",
    {
      config: { permission: "monitoring:read" },
      schema: {
        tags,
        summary: "Every cron by its name, and when it fires next",
        querystring: exactly(pageQuery),
        response: { 200: pageSchema(cronSchema) },
      },
    },
    async ({ query }) => cut(query, await read(parts, crons.list()), ({ name }) => name, showCron),
  );
}

function listTicks(app: RouteApp, parts: RouteParts): void {
  const { crons } = parts.node;

  app.get(
    "/v1/crons/:name/history",
    {
      config: { permission: "monitoring:read" },
      schema: {
        tags,
        summary: "What became of a cron's ticks, newest first",
        params,
        querystring: exactly(pageQuery),
        response: { 200: pageSchema(tickSchema) },
      },
    },
    async ({ params: { name }, query }) =>
      firstOf(query, await read(parts, crons.history(name, databasePage(query))), showTick),
  );
}

function triggerCron(app: RouteApp, parts: RouteParts): void {
  const { crons } = parts.node;

  app.post(
    "/v1/crons/:name/trigger",
    {
      config: { permission: "control" },
      preValidation: withoutBodyIsEmpty,
      schema: {
        tags,
        summary: "Submits a job of the cron now, beside its schedule, also where it is paused",
        params,
        querystring: noQuery,
        body,
        response: { 201: triggeredSchema },
      },
    },
    async ({ params: { name }, body: { leader_epoch: stated } }, reply) => {
      const triggered = await changeCron(parts, stated, async (epoch) => {
        const { jobId } = await crons.trigger(name);
        return { name, job_id: jobId, leader_epoch: Number(epoch) };
      });
      reply.code(201);
      return triggered;
    },
  );
}

function steerCron(app: RouteApp, parts: RouteParts): void {
  const { crons } = parts.node;

  for (const [act, summary] of Object.entries(steered) as [keyof typeof steered, string][]) {
    app.post(
      `/v1/crons/:name/${act}`,
      {
        config: { permission: "control" },
        preValidation: withoutBodyIsEmpty,
        schema: { tags, summary, params, querystring: noQuery, body, response: { 200: cronSchema } },
      },
      async ({ params: { name }, body: { leader_epoch: stated } }) =>
        showCron(await changeCron(parts, stated, async () => await crons[act](name))),
    );
  }
}

/** The epoch is looked at in the same breath as the term that the write belongs to. */
async function changeCron<Result>(
  parts: RouteParts,
  stated: number | undefined,
  write: (epoch: bigint) => Promise<Result>,
): Promise<Result> {
  return await change(parts, async () => await write(parts.node.jobs.requireEpoch(bigOf(stated))));
}
