import type { FastifyReply, FastifyRequest } from "fastify";
import Type from "typebox";
import { HoldfastError } from "../errors.js";
import { sendAnswer } from "./failure.js";
import { exactly, noBody, noQuery } from "./fields.js";
import { roleToForward } from "./forwarding.js";
import { leaderGuard } from "./leader-guard.js";
import { databasePage, firstOf, pageQuery, pageSchema } from "./page.js";
import {
  laneName,
  letterBodySchema,
  letterSchema,
  queueName,
  redrivenSchema,
  showBody,
  showLetter,
  stageName,
} from "./queue-answers.js";
import { change, type RouteApp, type RouteParts, read, routesOf } from "./routes.js";
import { withoutBodyIsEmpty } from "./validator.js";

const params = exactly({ id: Type.String({ minLength: 1, maxLength: 64, description: "A dead letter's id" }) });

const tags = ["queue"];
const config = { permission: "monitoring:read" } as const;

/** The dead letters of all queues: every node shows them, and the leader of a queue's role redrives its own. */
export const deadLetterRoutes = routesOf(listLetters, oneLetter, letterBody, redriveLetter);

function listLetters(app: RouteApp, parts: RouteParts): void {
  const { view } = parts.node.queues;

  app.get(
    "/dead-letters",
    {
      config,
      schema: {
        tags,
        summary: "Messages that made way, newest first; without headers and bodies",
        querystring: exactly({
          queue: Type.Optional(queueName),
          stage: Type.Optional(stageName),
          lane: Type.Optional(laneName),
          ...pageQuery,
        }),
        response: { 200: pageSchema(letterSchema) },
      },
    },
    async ({ query }) => {
      const { queue, stage, lane } = query;
      const filter = { queue, stage, lane, ...databasePage(query) };
      return firstOf(query, await read(parts, view.deadLetters(filter)), showLetter);
    },
  );
}

function oneLetter(app: RouteApp, parts: RouteParts): void {
  const { view } = parts.node.queues;

  app.get(
    "/dead-letters/:id",
    {
      config,
      schema: {
        tags,
        summary: "One dead letter; without headers and body",
        params,
        querystring: noQuery,
        response: { 200: letterSchema },
      },
    },
    async ({ params: { id } }) => showLetter(found(id, await read(parts, view.deadLetter(id)))),
  );
}

function letterBody(app: RouteApp, parts: RouteParts): void {
  const { view } = parts.node.queues;

  app.get(
    "/dead-letters/:id/body",
    {
      // Running a cluster gives no right to read what its customers write, and whoever does leaves a trace.
      config: { permission: "messages:read", audited: true },
      schema: {
        tags,
        summary: "What a dead letter says: its headers and body. Each view is a line in the audit",
        params,
        querystring: noQuery,
        response: { 200: letterBodySchema },
      },
    },
    async ({ params: { id } }) => showBody(id, found(id, await read(parts, view.deadLetterBody(id)))),
  );
}

function redriveLetter(app: RouteApp, parts: RouteParts): void {
  const { node } = parts;
  const { view } = node.queues;

  /** Before the body is looked at: whether this node leads the role of the letter's queue. */
  const onlyOnLeader = async (request: FastifyRequest<{ Params: { id: string } }>, reply: FastifyReply) => {
    const { id } = request.params;
    const letter = await read(parts, view.deadLetter(id));
    const role = letter?.role ?? node.config.primaryRole;
    const refusal = leaderGuard(node, role);
    request.forwardRole = refusal === null ? null : roleToForward(request, refusal, role);
    if (refusal === null) found(id, letter);
    else if (request.forwardRole === null) return sendAnswer(reply, refusal);
    return undefined;
  };

  app.post(
    "/dead-letters/:id/redrive",
    {
      config: { permission: "replay" },
      onRequest: onlyOnLeader,
      preValidation: withoutBodyIsEmpty,
      schema: {
        tags,
        summary: "Takes a dead letter in again, at the end of its lane. Once, and on the leader of its queue's role",
        params,
        querystring: noQuery,
        body: noBody,
        response: { 200: redrivenSchema },
      },
    },
    async ({ params: { id } }) => {
      const { queue } = found(id, await read(parts, view.deadLetter(id)));
      const [redriven] = await change(parts, async () => await node.queues.redrive(queue, [id]));
      return { queue, ...found(id, redriven ?? null) };
    },
  );
}

function found<Thing>(id: string, thing: Thing | null): Thing {
  if (thing === null) throw new HoldfastError("NOT_FOUND", `There is no dead letter "${id}".`);
  return thing;
}
