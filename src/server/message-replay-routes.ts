import type { FastifyPluginAsyncTypebox } from "@fastify/type-provider-typebox";
import Type, { type Static } from "typebox";
import { mostReplayed, type ReplayOutcome } from "../engine/replay.js";
import { fromDatabase } from "./database-wait.js";
import { errorAnswer } from "./error-answer.js";
import { exactly, noQuery, nullable } from "./fields.js";
import { destination, filterFields, filterOf, messageId, onlyTo, wrongField } from "./message-answers.js";
import { databasePage, pageQuery } from "./page.js";
import type { RouteParts } from "./routes.js";
import { changeGraph, partOfGraph } from "./running-graph.js";
import type { ServedNode } from "./served-node.js";

const outcomeSchema = exactly({
  id: nullable(Type.String({ description: "The new message; null where there is none" })),
  replay_of: Type.String(),
  error: Type.Optional(Type.String()),
  message: Type.Optional(Type.String()),
});

const manySchema = exactly({
  ...filterFields,
  ids: Type.Optional(
    Type.Array(messageId, { minItems: 1, maxItems: mostReplayed, description: "These, in place of a filter" }),
  ),
  to: Type.Optional(destination),
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: mostReplayed, description: "How many, the newest; 100 by default" }),
  ),
  cursor: pageQuery.cursor,
  dry_run: Type.Optional(Type.Boolean({ description: "Only say which they would be" })),
});

const replayedSchema = exactly({
  dry_run: Type.Boolean(),
  matched: Type.Array(Type.String(), { description: "Those that were meant, in the order in which they came" }),
  replayed: Type.Integer({ minimum: 0, description: "How many were taken in again" }),
  items: Type.Array(outcomeSchema),
  left: Type.Array(Type.String(), { description: "Those that were not tried: ask again with these ids" }),
  next_cursor: nullable(Type.String({ description: "Where to go on: there may be more that match" })),
});

export type ReplayedAnswer = Static<typeof replayedSchema>;

/** Many messages that are taken in again, by filter or by id: on the leader of `engine`. */
export const messageReplayRoutes: FastifyPluginAsyncTypebox<RouteParts> = async (app, { node, limits }) => {
  app.post(
    "/messages/replay",
    {
      config: { permission: "replay" },
      schema: {
        tags: ["messages"],
        summary: "Takes many messages in again, by filter or by id, in the order in which they came",
        querystring: noQuery,
        body: manySchema,
        response: { 200: replayedSchema },
      },
    },
    async (request) => {
      const { ids, to = "all", limit, cursor, dry_run: dryRun = false, ...filter } = request.body;
      request.auditTarget = dryRun ? "dry run" : `to ${to}`;
      const replaying = partOfGraph(node, "replaying");
      checkChoice(ids, filter);
      replaying.checkOutbound(onlyTo(to));
      const until = AbortSignal.timeout(limits.maxReplayMs);
      const page = databasePage(cursor === undefined ? {} : { cursor });
      const chosen = async () =>
        ids === undefined
          ? await replaying.matching(
              filterOf(filter, request.caller),
              { ...page, limit: limit ?? limits.pageSize },
              until,
            )
          : { ids, next: null };
      const found = await fromDatabase(limits.maxReplayMs + limits.databaseWaitMs, chosen());
      const matched = [...new Set(found.ids)].sort((one, other) => Number(one) - Number(other));
      const answer = { dry_run: dryRun, matched, next_cursor: found.next };
      if (dryRun) return { ...answer, replayed: 0, items: [], left: [] };
      // The last one that is begun in time still has its own wait for the database.
      const { outcomes, left } = await changeGraph(
        node,
        limits.maxReplayMs + limits.databaseWaitMs,
        async () => await replaying.replayAll(matched, onlyTo(to), until),
      );
      const items = outcomes.map((outcome) => showOutcome(node, outcome));
      const replayed = items.filter(({ id }) => id !== null).length;
      request.auditTarget = `${replayed} of ${matched.length} to ${to}`;
      return { ...answer, replayed, items, left: [...left] };
    },
  );
  await Promise.resolve();
};

/** Everything at once is never what somebody meant. */
function checkChoice(ids: readonly string[] | undefined, filter: Readonly<Record<string, unknown>>): void {
  const isFiltered = Object.values(filter).some((value) => value !== undefined);
  if (ids === undefined && !isFiltered)
    throw wrongField("ids", "is missing: say which messages, by a filter or by ids");
  if (ids !== undefined && isFiltered) throw wrongField("ids", "names the messages already: leave the filter out");
}

function showOutcome(node: ServedNode, outcome: ReplayOutcome): Static<typeof outcomeSchema> {
  if (!("error" in outcome)) return { id: outcome.id, replay_of: outcome.replayOf };
  const { error = outcome.error.code, message = "" } = errorAnswer(outcome.error, node)?.body ?? {};
  return { id: null, replay_of: outcome.replayOf, error: String(error), message: String(message) };
}
