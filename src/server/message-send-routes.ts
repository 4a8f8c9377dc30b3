import type { FastifyRequest } from "fastify";
import Type, { type Static } from "typebox";
import { rowOfMessage } from "../engine/message-lookup.js";
import { notTaken } from "../engine/replay.js";
import { fromDatabase } from "./database-wait.js";
import { exactly, noQuery, nullable } from "./fields.js";
import {
  bodyEncoding,
  bytesOf,
  connectionName,
  destination,
  givenBody,
  messageId,
  onlyTo,
  outboundName,
  wrongField,
} from "./message-answers.js";
import { type RouteApp, type RouteParts, routesOf } from "./routes.js";
import { changeGraph, charsetOfConnection, partOfGraph } from "./running-graph.js";
import { withoutBodyIsEmpty } from "./validator.js";

const tags = ["messages"];
const config = { permission: "replay" } as const;

const sentSchema = exactly({
  id: Type.String(),
  connection: Type.String(),
  duplicate: Type.Boolean({ description: "A message of this control id was there: nothing was taken in" }),
  malformed: nullable(Type.String({ description: "Why it cannot be read; it is kept all the same" })),
});

export type SentAnswer = Static<typeof sentSchema>;

/** Messages to try things with, and single ones that are taken in again: on the leader of `engine`. */
export const messageSendRoutes = routesOf(sendMessage, replayMessage);

function sendMessage(app: RouteApp, { node, limits }: RouteParts): void {
  app.post(
    "/messages",
    {
      config,
      bodyLimit: limits.maxBodyBytes,
      schema: {
        tags,
        summary: "Takes a message in as if it had come in by the connection. 200 where that was there already",
        querystring: noQuery,
        body: exactly({ connection: connectionName, body: givenBody, encoding: Type.Optional(bodyEncoding) }),
        response: { 200: sentSchema, 201: sentSchema },
      },
    },
    async (request, reply) => {
      const { connection, body, encoding } = request.body;
      request.auditTarget = connection;
      const engine = partOfGraph(node, "engine");
      const bytes = bytesOf(body, encoding, charsetOfConnection(node, connection));
      const arrival = { body: bytes, peer: `api: ${request.caller?.name ?? ""}` };
      const receipt = await changeGraph(
        node,
        limits.databaseWaitMs,
        async () => await engine.take(connection, arrival),
      );
      if (receipt.kind === "refused") throw notTaken(receipt, "The message");
      const { id, duplicate, malformed } = receipt;
      request.auditTarget = `${connection} ${id}`;
      reply.code(duplicate ? 200 : 201);
      return { id, connection, duplicate, malformed };
    },
  );
}

function replayMessage(app: RouteApp, { node, limits }: RouteParts): void {
  async function editedBody(id: string, body: string, encoding: "text" | "base64" | undefined): Promise<Buffer> {
    const { connection } = await fromDatabase(limits.databaseWaitMs, rowOfMessage(node.engine.book, id));
    return bytesOf(body, encoding, charsetOfConnection(node, connection));
  }

  app.post(
    "/messages/:id/replay",
    {
      config,
      bodyLimit: limits.maxBodyBytes,
      preValidation: [withoutBodyIsEmpty, nameTarget],
      schema: {
        tags,
        summary: "Takes a message in again, as it came or edited: through the router and handlers as they are now",
        params: exactly({ id: messageId }),
        querystring: noQuery,
        body: exactly({
          to: Type.Optional(destination),
          body: Type.Optional(givenBody),
          encoding: Type.Optional(bodyEncoding),
        }),
        response: { 201: exactly({ id: Type.String(), replay_of: Type.String() }) },
      },
    },
    async (request, reply) => {
      const { id } = request.params;
      const { to = "all", body, encoding } = request.body;
      if (body === undefined && encoding !== undefined) throw wrongField("body", "is missing: encoding speaks of it");
      const replaying = partOfGraph(node, "replaying");
      const edited = body === undefined ? undefined : await editedBody(id, body, encoding);
      const replay = async () => await replaying.replay(id, { to: onlyTo(to), body: edited });
      const report = await changeGraph(node, limits.bodyWaitMs, replay);
      reply.code(201);
      return { id: report.id, replay_of: report.replayOf };
    },
  );
}

/** Before the line of the audit is begun, and so before anything of the request is known to be right. */
async function nameTarget(request: FastifyRequest): Promise<void> {
  const { id } = request.params as { readonly id: string };
  const { to = "all", body } = (request.body ?? {}) as { readonly to?: unknown; readonly body?: unknown };
  const isName = typeof to === "string" && outboundName.test(to);
  request.auditTarget = `${id} to ${isName ? to : "?"}${body === undefined ? "" : ", edited"}`;
  await Promise.resolve();
}
