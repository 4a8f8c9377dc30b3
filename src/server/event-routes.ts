import { Readable } from "node:stream";
import type { FastifyPluginAsyncTypebox } from "@fastify/type-provider-typebox";
import Type from "typebox";
import { fromDatabase } from "./database-wait.js";
import { endOfAccess } from "./end-of-access.js";
import { cursorOf, eventStream } from "./event-stream.js";
import { exactly } from "./fields.js";
import { hangUpOf } from "./hang-up.js";
import { closingOf, type RouteParts } from "./routes.js";
import { stallWatch } from "./server-sent.js";

/** What happens to jobs and agents, as it is committed. Every node tells it, leader or not. */
export const eventRoutes: FastifyPluginAsyncTypebox<RouteParts> = async (app, options) => {
  const { node, limits } = options;
  const { events: feed } = node.jobs;
  const closing = closingOf(app);

  app.get(
    "/v1/events",
    {
      config: { permission: "monitoring:read" },
      // A stream has no end whose length could be told.
      exposeHeadRoute: false,
      schema: {
        tags: ["events"],
        summary: "Server-sent events: hello first, then what happens. Goes on after Last-Event-ID, or ?after=",
        querystring: exactly({
          after: Type.Optional(
            Type.String({ minLength: 1, maxLength: 220, description: "The id of the last event that was seen" }),
          ),
        }),
        response: { 200: { content: { "text/event-stream": { schema: Type.String() } } } },
      },
    },
    async ({ query, headers, caller }, reply) => {
      const stated = headers["last-event-id"] ?? query.after;
      // What is no cursor of ours is one that nobody knows here: the listener is told to begin anew.
      const from = typeof stated === "string" ? (cursorOf(stated) ?? { generation: "", id: 0 }) : null;
      const first = await fromDatabase(limits.databaseWaitMs, feed.after(from));
      const signal = hangUpOf(reply, closing);
      const patience = stallWatch(limits.listenerStallMs, () => reply.raw.destroy());
      const accessEnded = endOfAccess(node.access, caller, reply);
      const { keepAliveMs } = limits;
      const stream = eventStream({ feed, first, from, signal, accessEnded, keepAliveMs, stalled: patience });
      return await reply
        .type("text/event-stream; charset=utf-8")
        .header("x-accel-buffering", "no")
        .send(Readable.from(stream, { objectMode: false, highWaterMark: 16_384 }) as never);
    },
  );
  await Promise.resolve();
};
