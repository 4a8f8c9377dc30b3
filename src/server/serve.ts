import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import swagger from "@fastify/swagger";
import { type FastifyBaseLogger, type FastifyInstance, fastify, LogController } from "fastify";
import { isLoopback } from "../config/loopback.js";
import { checkServing, publicUrlOf } from "../config/serving.js";
import { HoldfastError } from "../errors.js";
import { accessRoutes } from "./access-routes.js";
import { agentRoutes } from "./agent-routes.js";
import { alertRoutes } from "./alert-routes.js";
import { clusterEventRoutes } from "./cluster-event-routes.js";
import { clusterRoutes } from "./cluster-routes.js";
import { configRoutes } from "./config-routes.js";
import { connectionRoutes } from "./connection-routes.js";
import { controlRoutes } from "./control-routes.js";
import { cronRoutes } from "./cron-routes.js";
import { dashboardRoutes } from "./dashboard-routes.js";
import { fromDatabase } from "./database-wait.js";
import { deadLetterRoutes } from "./dead-letter-routes.js";
import { docsRoutes } from "./docs-routes.js";
import { eventRoutes } from "./event-routes.js";
import { functionRoutes } from "./function-routes.js";
import { healthRoutes } from "./health-routes.js";
import { jobControlRoutes } from "./job-control-routes.js";
import { jobRoutes } from "./job-routes.js";
import { laneRoutes } from "./lane-routes.js";
import { leaseRoutes } from "./lease-routes.js";
import { limits as defaults, type Limits } from "./limits.js";
import { createListener, type Listener } from "./listener.js";
import { messageReplayRoutes } from "./message-replay-routes.js";
import { messageRoutes } from "./message-routes.js";
import { messageSendRoutes } from "./message-send-routes.js";
import { metricsRoutes } from "./metrics-routes.js";
import { isOpenDoor } from "./open-door.js";
import { openapiOptions, openapiRoutes } from "./openapi-routes.js";
import { dashboardFiles } from "./page-files.js";
import { answerUnreadablePath, pathOfRequests, unmatched } from "./request-path.js";
import { resultRoutes } from "./result-routes.js";
import { requireRights } from "./route-rights.js";
import { scaleRoutes } from "./scale-routes.js";
import type { ServedNode } from "./served-node.js";
import { sessionRoutes } from "./session-routes.js";
import { compileValidator } from "./validator.js";

export interface RunningServer {
  readonly url: string;
  /** Takes no new connection, finishes the requests under way for a while, and closes. */
  close(): Promise<void>;
}

/** The node's API, ready for `inject`; `startServer` also listens. */
export function createServer(node: ServedNode, changed: Partial<Limits> = {}): FastifyInstance {
  const limits: Limits = { ...defaults, ...changed };
  let listener: Listener | null = null;
  let onClientError: (status: number) => void = () => undefined;
  const log: FastifyBaseLogger = node.log.child({ node_id: node.id });
  const app: FastifyInstance = fastify({
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: "request_id" }),
    genReqId: () => randomUUID(),
    bodyLimit: limits.bodyBytes,
    routerOptions: { maxParamLength: limits.paramLength },
    return503OnClosing: false,
    forceCloseConnections: "idle",
    frameworkErrors: (error, request, reply) => answerUnreadablePath(node, limits, { error, request, reply }),
    serverFactory: (handler) => {
      listener = createListener(node, limits, handler, (status) => onClientError(status));
      return listener.server;
    },
  });
  node.countConnections(() => listener?.connections() ?? 0);
  app.addHook("preClose", async () => {
    listener?.turnAway();
    await Promise.resolve();
  });
  app.setValidatorCompiler(compileValidator);
  app.removeContentTypeParser("text/plain");
  requireRights(app, limits);
  const metrics = pathOfRequests(app, node, limits, (socket) => listener?.isSurplus(socket) === true);
  onClientError = (status) => metrics.count("unknown", unmatched, status);
  app.register(swagger, openapiOptions);
  app.register(healthRoutes, { node });
  app.register(clusterRoutes, { node, limits });
  app.register(clusterEventRoutes, { node, limits });
  app.register(controlRoutes, { node, limits });
  app.register(metricsRoutes, { node, limits });
  app.register(scaleRoutes, { node, limits });
  app.register(openapiRoutes);
  if (node.config.cluster.roles.includes("gateway")) {
    app.register(accessRoutes, { node, limits });
    app.register(laneRoutes, { node, limits });
    app.register(deadLetterRoutes, { node, limits });
    app.register(messageRoutes, { node, limits });
    app.register(messageSendRoutes, { node, limits });
    app.register(messageReplayRoutes, { node, limits });
    app.register(connectionRoutes, { node, limits });
    app.register(configRoutes, { node, limits });
    app.register(jobRoutes, { node, limits });
    app.register(jobControlRoutes, { node, limits });
    app.register(leaseRoutes, { node, limits });
    app.register(resultRoutes, { node, limits });
    app.register(agentRoutes, { node, limits });
    app.register(functionRoutes, { node, limits });
    app.register(cronRoutes, { node, limits });
    app.register(eventRoutes, { node, limits });
    app.register(alertRoutes, { node, limits });
    app.register(docsRoutes);
    app.register(sessionRoutes, { node, limits });
    app.register(dashboardRoutes, { files: dashboardFiles() });
  }
  return app;
}

/** Refuses where anyone on the network could do anything, and where tokens could be read on the way. */
export async function startServer(node: ServedNode, changed: Partial<Limits> = {}): Promise<RunningServer> {
  const { config, log } = node;
  checkServing(config);
  await checkAccess(node, changed.databaseWaitMs ?? defaults.databaseWaitMs);
  const app = createServer(node, changed);
  const graceMs = changed.closeGraceMs ?? defaults.closeGraceMs;
  const close = async (): Promise<void> => {
    const impatient = setTimeout(() => app.server.closeAllConnections(), graceMs);
    try {
      await app.close();
    } finally {
      clearTimeout(impatient);
    }
  };
  try {
    const port = await listen(app, config.api);
    if (isOpenDoor(node)) {
      log.warn(
        { node_id: node.id },
        "no token exists: every program on this machine may do everything; `holdfast token create` closes that door",
      );
    }
    return { url: publicUrlOf({ ...config, api: { ...config.api, publicUrl: "" } }, hostname(), port), close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function checkAccess(node: ServedNode, waitMs: number): Promise<void> {
  const { access, config, log } = node;
  const { host } = config.api;
  try {
    await fromDatabase(waitMs, access.refresh());
  } catch (error) {
    if (!isLoopback(host)) throw error;
    log.warn({ err: error, node_id: node.id }, "the tokens cannot be read: until they can, nobody is let in");
  }
  if (!isLoopback(host) && access.isOpen) {
    throw new HoldfastError(
      "ACCESS_OPEN",
      `api.host (${host}) is reached from other machines, and there is no token, so anyone could do anything: ` +
        "run `holdfast token create --direct --name admin --role admin` first, or listen on 127.0.0.1.",
    );
  }
}

async function listen(app: FastifyInstance, { host, port }: ServedNode["config"]["api"]): Promise<number> {
  const { level } = app.log;
  try {
    await app.ready();
    // Fastify would say where it listens; whoever starts the node says it with more sense.
    app.log.level = "warn";
    // One address and not the two that this name may mean: the limits are those of one server.
    await app.listen({ host: host === "localhost" ? "127.0.0.1" : host, port });
  } catch (error) {
    throw listenError(error, host, port);
  } finally {
    app.log.level = level;
  }
  const address = app.server.address();
  return typeof address === "object" && address !== null ? address.port : port;
}

function listenError(error: unknown, host: string, port: number): unknown {
  const { code = "" } = error as NodeJS.ErrnoException;
  const reasons: Readonly<Record<string, string>> = {
    EADDRINUSE: "is taken by another process",
    EADDRNOTAVAIL: "is not an address of this machine",
    EACCES: "may not be bound by this user",
    ENOTFOUND: "cannot be resolved",
  };
  const reason = reasons[code];
  if (reason === undefined) return error;
  return new HoldfastError(
    "ADDRESS_IN_USE",
    `${host}:${port} ${reason}: set api.port (HOLDFAST_API_PORT) or api.host to another; port 0 takes any that is free.`,
    { cause: error },
  );
}
