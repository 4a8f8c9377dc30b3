import Type from "typebox";
import { HoldfastError } from "../errors.js";
import {
  infoSchema,
  leaderSchema,
  nodesSchema,
  showInfo,
  showLeader,
  showNodes,
  showTransition,
  statusSchema,
  transitionSchema,
} from "./cluster-answers.js";
import { exactly, noQuery, roleName } from "./fields.js";
import { cut, databasePage, firstOf, pageQuery, pageSchema } from "./page.js";
import { postureOrUnknown } from "./role-headers.js";
import { type RouteApp, type RouteParts, read, routesOf } from "./routes.js";
import type { ServedNode } from "./served-node.js";
import { showSingleNode } from "./single-node.js";

const config = { permission: "monitoring:read" } as const;
const tags = ["cluster"];

/** Who is here and who leads. Every node answers, leader or not, draining or not. */
export const clusterRoutes = routesOf(status, nodes, info, leaders, history);

function status(app: RouteApp, { node }: RouteParts): void {
  const clustered = node.config.cluster.enabled;

  app.get(
    "/cluster/status",
    {
      config,
      schema: {
        tags,
        summary: "This node's own view, from memory",
        querystring: noQuery,
        response: { 200: statusSchema },
      },
    },
    async () => {
      const leads = !clustered || postureOrUnknown(node).isLeader;
      const role = leads ? ("primary" as const) : ("standby" as const);
      return {
        node_id: node.id,
        clustered,
        is_leader: leads,
        role: clustered ? role : ("single-node" as const),
        config_version: node.configVersion,
      };
    },
  );
}

function nodes(app: RouteApp, parts: RouteParts): void {
  const { node } = parts;
  const clustered = node.config.cluster.enabled;

  app.get(
    "/cluster/nodes",
    {
      config,
      schema: {
        tags,
        summary: "Every node, as the database knows it",
        querystring: noQuery,
        response: { 200: nodesSchema },
      },
    },
    async () => {
      if (!clustered) return showSingleNode(node);
      const [nodes, leases] = await read(parts, Promise.all([node.cluster.nodes(), node.cluster.leases()]));
      return showNodes(
        nodes,
        leases.find(({ role }) => role === node.config.primaryRole),
      );
    },
  );
}

function info(app: RouteApp, parts: RouteParts): void {
  const { node } = parts;
  app.get(
    "/cluster/info",
    {
      config,
      schema: { tags, summary: "The cluster in figures", querystring: noQuery, response: { 200: infoSchema } },
    },
    async () => showInfo(await read(parts, node.cluster.info())),
  );
}

function leaders(app: RouteApp, parts: RouteParts): void {
  const { node } = parts;
  app.get(
    "/cluster/leaders",
    {
      config,
      schema: {
        tags,
        summary: "Who leads each role, under which epoch, for how long",
        querystring: exactly(pageQuery),
        response: { 200: pageSchema(leaderSchema) },
      },
    },
    async ({ query }) => {
      const leases = await read(parts, node.cluster.leases());
      const sorted = leases.toSorted((a, b) => (a.role < b.role ? -1 : 1));
      return cut(query, sorted, ({ role }) => role, showLeader);
    },
  );
}

function history(app: RouteApp, parts: RouteParts): void {
  const { node } = parts;
  app.get(
    "/cluster/history",
    {
      config,
      schema: {
        tags,
        summary: "Every change of leadership, newest first",
        querystring: exactly({ role: Type.Optional(roleName), ...pageQuery }),
        response: { 200: pageSchema(transitionSchema) },
      },
    },
    async ({ query }) => {
      const { role } = query;
      const lines = await read(parts, node.cluster.history(role, databasePage(query)));
      if (role !== undefined && lines.length === 0) await read(parts, requireRole(node, role));
      return firstOf(query, lines, showTransition);
    },
  );
}

/** A role without a history is either young or does not exist. */
async function requireRole({ cluster }: ServedNode, role: string): Promise<void> {
  const leases = await cluster.leases();
  if (leases.every((lease) => lease.role !== role)) {
    throw new HoldfastError("UNKNOWN_ROLE", `Role "${role}" is not known in this cluster.`);
  }
}
