import Type, { type Static } from "typebox";
import { connectionOf, stages } from "../engine/core/lane-names.js";
import { engineRole } from "../engine/engine-role.js";
import { within } from "../lifecycle/within.js";
import { exactly, noQuery, nullable, secondsOrNull } from "./fields.js";
import { connectionName } from "./message-answers.js";
import { cut, pageQuery, pageSchema } from "./page.js";
import { type RouteApp, type RouteParts, read, routesOf } from "./routes.js";
import { changeGraph } from "./running-graph.js";
import type { ServedNode } from "./served-node.js";
import { withoutBodyIsEmpty } from "./validator.js";

const count = (description: string) => Type.Integer({ minimum: 0, description });

const viewFields = {
  name: Type.String(),
  direction: Type.Enum(["inbound", "outbound"]),
  transport: Type.String(),
  state: Type.Enum(["running", "starting", "stopped", "failed"]),
  reason: nullable(Type.String({ description: "Why it is not running" })),
  since: nullable(Type.Number({ description: "Seconds since 1970, by the leader's clock" })),
  connections: Type.Integer({ minimum: 0, description: "How many are open" }),
};

/** What has become of its messages, over all nodes and restarts. */
const countsSchema = exactly({
  received: count("Messages that it took in, on all nodes that ever were"),
  unrouted: count("For which its router named no handler"),
  filtered: count("Times that a handler sent nothing on"),
  processed: count("Times that a handler sent something on"),
  sent: count("Messages that it delivered"),
  error: count("Messages that became dead letters there, also those that were redriven since"),
});

const connectionSchema = exactly({
  ...viewFields,
  told_at: nullable(
    Type.Number({ description: "When its leader told it, in seconds since 1970; null where this node is the leader" }),
  ),
  waiting: Type.Integer({
    minimum: 0,
    description: "Messages that came in and are not routed and handled yet; or that are to go out",
  }),
  errors: Type.Integer({
    minimum: 0,
    description: "Dead letters of what came in by it, or of what it could not deliver, that nobody has redriven",
  }),
  counts: countsSchema,
  counts_at: nullable(
    Type.Number({
      description:
        "When the totals of the cluster were put together, in seconds since 1970. What this node has counted since is among " +
        "the counts. Null where there are no totals yet: then it is all there is",
    }),
  ),
});
const steeredSchema = exactly(viewFields);

export type ConnectionAnswer = Static<typeof connectionSchema>;
export type SteeredAnswer = Static<typeof steeredSchema>;
type Seen = Awaited<ReturnType<ServedNode["engine"]["connections"]>>[number];

const acts = {
  start: "Opens it, also one that was stopped. 202 where that takes longer than the wait",
  stop: "Closes it until it is started again, whoever leads. What is to go out waits, in order",
  restart: "Closes it and opens it anew; one that was stopped is started",
} as const;
type Act = keyof typeof acts;

const reason = Type.String({
  pattern: "^[^\\x00-\\x1f\\x7f-\\x9f]{1,200}$",
  description: "For whoever finds it stopped",
});
const unstated = "no reason was given";
const lanesAtOnce = 1_000;

const tags = ["connections"];

/** The connections of the message graph: every node shows them, and the leader of `engine` steers them. */
export const connectionRoutes = routesOf(listConnections, steerConnections);

function listConnections(app: RouteApp, parts: RouteParts): void {
  const { node } = parts;
  app.get(
    "/connections",
    {
      config: { permission: "monitoring:read" },
      schema: {
        tags,
        summary: "Every connection of the graph, how it is doing, and what waits there",
        querystring: exactly(pageQuery),
        response: { 200: pageSchema(connectionSchema) },
      },
    },
    async ({ query }) => {
      const { engine } = node;
      const [seen, standing, outgoing, counted] = await read(
        parts,
        Promise.all([engine.connections(), engine.book.standing(), outgoingOf(node), engine.counted()]),
      );
      const countsAt = secondsOrNull(counted.at);
      const incoming = new Map(standing.map((one) => [one.connection, one]));
      return cut(
        query,
        seen,
        ({ name }) => name,
        (one) => {
          const came = incoming.get(one.name);
          const isInbound = one.direction === "inbound";
          const waiting = isInbound ? (came?.received ?? 0) + (came?.routed ?? 0) : (outgoing.get(one.name) ?? 0);
          const told = { told_at: secondsOrNull(one.toldAt), errors: came?.error ?? 0 };
          return { ...showSteered(one), waiting, ...told, counts: counted.of(one.name), counts_at: countsAt };
        },
      );
    },
  );
}

function steerConnections(app: RouteApp, parts: RouteParts): void {
  const { node, limits } = parts;
  /** A source may take its time to start, and what is being sent to end: whoever asked does not wait for all of it. */
  async function steer(act: Act, name: string, { by, why }: { readonly by: string; readonly why: string }) {
    return await changeGraph(node, limits.maxControlWaitMs, async ({ steering }) =>
      act === "stop" ? await steering.stop(name, by, why) : await steering[act](name),
    );
  }

  for (const [act, summary] of Object.entries(acts) as [Act, string][]) {
    app.post(
      `/connections/:name/${act}`,
      {
        config: { permission: "control" },
        preValidation: withoutBodyIsEmpty,
        schema: {
          tags,
          summary,
          params: exactly({ name: connectionName }),
          querystring: noQuery,
          body: exactly(act === "stop" ? { reason: Type.Optional(reason) } : {}),
          response: { 200: steeredSchema, 202: steeredSchema },
        },
      },
      async (request, reply) => {
        const { name } = request.params;
        const why = (request.body as { readonly reason?: string }).reason ?? unstated;
        const by = request.caller?.name ?? "";
        const steered = steer(act, name, { by, why });
        const view = await within(limits.controlWaitMs, steered, () => null);
        if (view !== null) return showSteered(view);
        steered.catch((error: unknown) => node.log.warn({ err: error, connection: name }, `a ${act} failed later`));
        reply.code(202);
        const [current] = (await read(parts, node.engine.connections())).filter((one) => one.name === name);
        return showSteered(current as Seen);
      },
    );
  }
}

function showSteered(view: Omit<Seen, "toldAt">): SteeredAnswer {
  const { name, direction, transport, state, reason: why, since, connections } = view;
  return { name, direction, transport, state, reason: why, since: secondsOrNull(since), connections };
}

/** How much each outbound has to send, over all its lanes. */
async function outgoingOf({ queues }: ServedNode): Promise<ReadonlyMap<string, number>> {
  const depths = new Map<string, number>();
  const place = { queue: engineRole, stage: stages.outbound, limit: lanesAtOnce };
  for (let after: string | undefined; ; ) {
    const lanes = await queues.view.lanes({ ...place, after });
    for (const { lane, depth } of lanes) {
      const name = connectionOf(lane);
      depths.set(name, (depths.get(name) ?? 0) + depth);
    }
    if (lanes.length < lanesAtOnce) return depths;
    after = lanes.at(-1)?.id;
  }
}
