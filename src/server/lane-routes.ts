import Type from "typebox";
import { HoldfastError } from "../errors.js";
import type { SeenLane } from "../queue/seen-lane.js";
import { toDatabase } from "./database-wait.js";
import { exactly, noBody } from "./fields.js";
import { cut, databasePage, firstOf, pageQuery, pageSchema } from "./page.js";
import {
  laneName,
  laneSchema,
  laneState,
  queueName,
  showLane,
  showStage,
  stageName,
  stageSchema,
} from "./queue-answers.js";
import { type RouteApp, type RouteParts, read, routesOf } from "./routes.js";
import type { ServedNode } from "./served-node.js";
import { sharedReading } from "./shared-reading.js";
import { withoutBodyIsEmpty } from "./validator.js";

const summaries = {
  pause: "Nothing more of the lane is handed out; what its handler has begun is finished",
  resume: "The lane goes on; a head that waits, or holds its lane, is tried again",
  skip: "The head of a blocked lane goes to the dead letters, and the lane goes on behind it",
} as const;

/** How deep all lanes are takes some looks at each that has work: every page that shows it need not ask anew. */
const stagesKeptMs = 1_000;
/** How many lanes of one name an error names. */
const mostNamed = 10;

const tags = ["queue"];
const of = { queue: Type.Optional(queueName), stage: Type.Optional(stageName) };

/** The lanes of all queues. Any node shows and steers them: what is done travels as a mark on the lane's row. */
export const laneRoutes = routesOf(listStages, listLanes, steerLane);

function listStages(app: RouteApp, parts: RouteParts): void {
  const stages = sharedReading(stagesKeptMs, async () => await read(parts, parts.node.queues.view.stages()));

  app.get(
    "/queue/stages",
    {
      config: { permission: "monitoring:read" },
      schema: {
        tags,
        summary: "Every stage of every queue, with its lanes together; at most a second old",
        querystring: exactly(pageQuery),
        response: { 200: pageSchema(stageSchema) },
      },
    },
    async ({ query }) => cut(query, await stages(), ({ queue, stage }) => `${queue}/${stage}`, showStage),
  );
}

function listLanes(app: RouteApp, parts: RouteParts): void {
  const { queues } = parts.node;

  app.get(
    "/queue/lanes",
    {
      config: { permission: "monitoring:read" },
      schema: {
        tags,
        summary: "Every lane, how deep it is and what holds it up",
        querystring: exactly({ ...of, state: Type.Optional(laneState), ...pageQuery }),
        response: { 200: pageSchema(laneSchema) },
      },
    },
    async ({ query }) => {
      const { queue, stage, state } = query;
      const { limit, before: after } = databasePage(query);
      return firstOf(query, await read(parts, queues.view.lanes({ queue, stage, state, after, limit })), showLane);
    },
  );
}

function steerLane(app: RouteApp, parts: RouteParts): void {
  const { node, limits } = parts;
  const { queues } = node;

  for (const [act, summary] of Object.entries(summaries) as [keyof typeof summaries, string][]) {
    app.post(
      `/queue/lanes/:lane/${act}`,
      {
        config: { permission: "control" },
        preValidation: withoutBodyIsEmpty,
        schema: {
          tags,
          summary,
          params: exactly({ lane: laneName }),
          querystring: exactly(of),
          body: noBody,
          response: { 200: laneSchema },
        },
      },
      async (request) => {
        const { params, query } = request;
        const { queue, stage, lane } = await read(parts, onlyLane(queues.view, { ...params, ...query }));
        request.auditTarget = `${queue}/${stage}/${lane}`;
        await toDatabase(node, limits.databaseWaitMs, () => queues[act](queue, { stage, lane }));
        return showLane(await read(parts, onlyLane(queues.view, { queue, stage, lane })));
      },
    );
  }
}

interface LaneQuestion {
  readonly lane: string;
  readonly queue?: string | undefined;
  readonly stage?: string | undefined;
}

/** The lane of that name; where there are several, whoever asks has to say which. */
async function onlyLane(view: ServedNode["queues"]["view"], asked: LaneQuestion): Promise<SeenLane> {
  const [lane, ...others] = await view.lanes({ ...asked, limit: mostNamed + 1 });
  if (lane === undefined) throw new HoldfastError("NOT_FOUND", `There is no lane "${asked.lane}"${whereOf(asked)}.`);
  if (others.length === 0) return lane;
  const candidates = [lane, ...others].slice(0, mostNamed).map(({ queue, stage }) => ({ queue, stage }));
  const named = candidates.map(({ queue, stage }) => `queue=${queue}&stage=${stage}`).join(", ");
  const more = others.length >= mostNamed ? ", and more" : "";
  throw new HoldfastError("INVALID_REQUEST", `There are several lanes "${asked.lane}": say which by ${named}${more}.`, {
    details: { candidates },
  });
}

function whereOf({ queue, stage }: LaneQuestion): string {
  return `${stage === undefined ? "" : ` in stage "${stage}"`}${queue === undefined ? "" : ` of queue "${queue}"`}`;
}
