import type { FastifyPluginAsyncTypebox } from "@fastify/type-provider-typebox";
import type { FastifyReply, FastifyRequest } from "fastify";
import Type, { type Static } from "typebox";
import type { Asking } from "../membership/cluster-view.js";
import { requestSchema, showRequest } from "./cluster-answers.js";
import { toDatabase } from "./database-wait.js";
import { exactly, noBody, nodeName, roleName } from "./fields.js";
import { hangUpOf } from "./hang-up.js";
import { limits as defaults } from "./limits.js";
import type { RouteParts } from "./routes.js";
import { withoutBodyIsEmpty } from "./validator.js";

const waitQuery = exactly({
  wait_ms: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: defaults.maxControlWaitMs,
      description: `How long to wait for the other node; ${defaults.controlWaitMs} by default. It may act later`,
    }),
  ),
});

/**
 * Draining, resuming and stepping down. Any node takes the request, which travels as a row to the one that is meant. These
 * are no work in the sense of `node.work`: a node that drains must still hear that it should resume.
 */
export const controlRoutes: FastifyPluginAsyncTypebox<RouteParts> = async (app, options) => {
  const { node, limits } = options;
  const config = { permission: "control" } as const;
  const tags = ["cluster"];
  const response = { 200: requestSchema, 202: requestSchema };

  const act = async (
    request: FastifyRequest<{ Querystring: Static<typeof waitQuery> }>,
    reply: FastifyReply,
    asking: Pick<Asking, "kind" | "nodeId" | "role" | "to">,
  ) => {
    const waitMs = request.query.wait_ms ?? limits.controlWaitMs;
    const requestedBy = request.caller?.name ?? "unknown";
    const ask = () => node.cluster.ask({ ...asking, requestedBy, waitMs, signal: hangUpOf(reply) });
    const seen = await toDatabase(node, waitMs + limits.databaseWaitMs, ask);
    reply.code(seen.actedAt === null ? 202 : 200);
    return showRequest(seen);
  };

  for (const kind of ["drain", "resume"] as const) {
    const summary =
      kind === "drain"
        ? "The node stops admitting work, finishes what it has, gives up its roles and stays a follower"
        : "The node takes work again, and contends again";
    app.post(
      `/cluster/nodes/:id/${kind}`,
      {
        config,
        preValidation: withoutBodyIsEmpty,
        schema: { tags, summary, params: exactly({ id: nodeName }), querystring: waitQuery, body: noBody, response },
      },
      async (request, reply) => await act(request, reply, { kind, nodeId: request.params.id }),
    );
  }

  app.post(
    "/cluster/leaders/:role/step-down",
    {
      config,
      preValidation: withoutBodyIsEmpty,
      schema: {
        tags,
        summary: "The role's leader hands over: to its heir, or to the node that is named",
        params: exactly({ role: roleName }),
        querystring: waitQuery,
        body: exactly({ to: Type.Optional(nodeName) }),
        response,
      },
    },
    async (request, reply) => {
      const { params, body } = request;
      return await act(request, reply, { kind: "step_down", role: params.role, to: body.to });
    },
  );
  await Promise.resolve();
};
