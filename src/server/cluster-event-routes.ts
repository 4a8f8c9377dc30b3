import { Readable } from "node:stream";
import type { FastifyPluginAsyncTypebox } from "@fastify/type-provider-typebox";
import Type from "typebox";
import { HoldfastError } from "../errors.js";
import { clusterStream } from "./cluster-stream.js";
import { ClusterWatch } from "./cluster-watch.js";
import { endOfAccess } from "./end-of-access.js";
import { noQuery } from "./fields.js";
import { hangUpOf } from "./hang-up.js";
import { closingOf, type RouteParts } from "./routes.js";
import { stallWatch } from "./server-sent.js";

/** Who leads and who is here, as it changes. Every node tells it, leader or not. */
export const clusterEventRoutes: FastifyPluginAsyncTypebox<RouteParts> = async (app, { node, limits }) => {
  const watch = new ClusterWatch(node, limits);
  const closing = closingOf(app);
  let open = 0;

  app.get(
    "/cluster/events",
    {
      config: { permission: "monitoring:read" },
      // A stream has no end whose length could be told.
      exposeHeadRoute: false,
      schema: {
        tags: ["cluster"],
        summary: "Server-sent events: hello, then leaders, nodes and history whenever they change",
        querystring: noQuery,
        response: { 200: { content: { "text/event-stream": { schema: Type.String() } } } },
      },
    },
    async ({ headers, caller }, reply) => {
      if (open >= limits.clusterListeners) {
        throw new HoldfastError("TOO_BUSY", `${open} listen to this node already: listen to another one.`);
      }
      open += 1;
      reply.raw.once("close", () => {
        open -= 1;
      });
      const seen = headers["last-event-id"];
      const stream = clusterStream({
        watch,
        nodeId: node.id,
        after: typeof seen === "string" && /^\d{1,18}$/.test(seen) ? BigInt(seen) : null,
        signal: hangUpOf(reply, closing),
        accessEnded: endOfAccess(node.access, caller, reply),
        keepAliveMs: limits.keepAliveMs,
        stalled: stallWatch(limits.listenerStallMs, () => reply.raw.destroy()),
      });
      return await reply
        .type("text/event-stream; charset=utf-8")
        .header("x-accel-buffering", "no")
        .send(Readable.from(stream, { objectMode: false, highWaterMark: 16_384 }) as never);
    },
  );
  await Promise.resolve();
};
