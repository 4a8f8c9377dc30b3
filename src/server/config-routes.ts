import Type, { type Static } from "typebox";
import { engineRole } from "../engine/engine-role.js";
import { fromDatabase, toDatabase } from "./database-wait.js";
import { exactly, noBody, noQuery, nullable, secondsOrNull, time } from "./fields.js";
import { postureOrUnknown } from "./role-headers.js";
import { type RouteApp, type RouteParts, routesOf } from "./routes.js";
import { partOfGraph } from "./running-graph.js";
import { withoutBodyIsEmpty } from "./validator.js";

const sharedVersion = Type.Integer({ minimum: 0, description: "The cluster's; every reload raises it by one" });
const hash = Type.String({ description: "SHA-256 of the config folder, as it was loaded" });

const reloadSchema = exactly({
  dry_run: Type.Boolean(),
  version: sharedVersion,
  hash,
  changed: Type.Boolean({ description: "Whether the folder is another than the one that ran before" }),
  added: Type.Array(Type.String()),
  removed: Type.Array(Type.String()),
  warnings: Type.Array(Type.String()),
});

const versionSchema = exactly({
  version: sharedVersion,
  node_id: Type.String(),
  node_version: nullable(Type.Integer({ description: "What this node runs; null where it has no graph" })),
  hash: nullable(hash),
  converged: Type.Boolean({ description: "Every node that has a graph runs this version of the leader's folder" }),
  nodes: Type.Array(
    exactly({
      node_id: Type.String(),
      status: Type.String(),
      version: Type.Integer(),
      hash,
      error: nullable(Type.String({ description: "Why what is in its folder is not what runs" })),
      converged: Type.Boolean(),
    }),
  ),
  references: Type.Array(
    exactly({
      name: Type.String(),
      version: nullable(Type.Integer({ description: "Of the rows that are looked up; null where it was never built" })),
      rows: nullable(Type.Integer({ minimum: 0 })),
      published_at: nullable(time),
      error: nullable(Type.String({ description: "Why the leader could not build it when it last tried" })),
      failed_at: nullable(time),
    }),
  ),
});

export type ReloadAnswer = Static<typeof reloadSchema>;
export type VersionAnswer = Static<typeof versionSchema>;

const tags = ["config"];

/** Which configuration runs where, and how another one comes to run. */
export const configRoutes = routesOf(reload, version);

function reload(app: RouteApp, { node, limits }: RouteParts): void {
  app.post(
    "/config/reload",
    {
      config: { permission: "config" },
      preValidation: withoutBodyIsEmpty,
      schema: {
        tags,
        summary:
          "Loads the leader's folder and has the others load theirs; 422 with each problem, and nothing is changed",
        querystring: exactly({ dry_run: Type.Optional(Type.Enum(["true", "false"])) }),
        body: noBody,
        response: { 200: reloadSchema },
      },
    },
    async (request) => {
      const dryRun = request.query.dry_run === "true";
      request.auditTarget = dryRun ? "dry run" : null;
      const convergence = partOfGraph(node, "convergence");
      const { hash: before } = convergence;
      // New connections are opened meanwhile, and each may take its time.
      const reload = () => toDatabase(node, limits.maxControlWaitMs, async () => await convergence.reload(dryRun));
      const { version, hash: now, warnings, changes } = await node.work.run(reload);
      const told = { added: [...changes.added], removed: [...changes.removed], warnings: [...warnings] };
      return { dry_run: dryRun, version, hash: now, changed: now !== before, ...told };
    },
  );
}

function version(app: RouteApp, { node, limits }: RouteParts): void {
  app.get(
    "/config/version",
    {
      config: { permission: "monitoring:read" },
      schema: {
        tags,
        summary: "The shared version of the configuration, and what each node runs of it",
        querystring: noQuery,
        response: { 200: versionSchema },
      },
    },
    async () => {
      const { engine } = node;
      const reading = Promise.all([engine.book.configs(), node.cluster.nodes(), engine.references()]);
      const [configs, members, references] = await fromDatabase(limits.databaseWaitMs, reading);
      const status = new Map(members.map((member): [string, string] => [member.nodeId, member.status]));
      const living = configs.filter(({ nodeId }) => !["left", "dead"].includes(status.get(nodeId) ?? "left"));
      const { leaderId } = postureOrUnknown(node, engineRole);
      const leaders = living.find(({ nodeId }) => nodeId === leaderId)?.hash ?? engine.convergence?.hash ?? null;
      const version = Math.max(engine.sharedVersion, ...living.map((one) => one.version));
      const nodes = living.map(({ nodeId, ...config }) => ({
        node_id: nodeId,
        status: status.get(nodeId) ?? "",
        ...config,
        converged: config.error === null && config.version === version && config.hash === (leaders ?? config.hash),
      }));
      return {
        version,
        node_id: node.id,
        node_version: engine.convergence?.version ?? null,
        hash: engine.convergence?.hash ?? null,
        converged: nodes.every(({ converged }) => converged),
        nodes,
        references: references.map(({ name, published, failure }) => ({
          name,
          version: published?.version ?? null,
          rows: published?.rows ?? null,
          published_at: secondsOrNull(published?.publishedAt ?? null),
          error: failure?.reason ?? null,
          failed_at: secondsOrNull(failure?.failedAt ?? null),
        })),
      };
    },
  );
}
