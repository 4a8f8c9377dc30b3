import { hostname } from "node:os";
import type { Logger } from "pino";
import type { Config } from "../config/config.js";
import { publicUrlOf } from "../config/serving.js";
import { loadGraph } from "../engine/create-engine.js";
import type { Engine } from "../engine/engine.js";
import { errorText, HoldfastError } from "../errors.js";
import type { HoldfastNode } from "../holdfast-node.js";
import { createJobs } from "../jobs/create-jobs.js";
import type { Employment } from "../jobs/worker/worker.js";
import { within } from "../lifecycle/within.js";
import { type PostgresTransaction, startNode } from "../node.js";
import { type RunningServer, startServer } from "../server/serve.js";
import type { CrashOrigin } from "./command-line.js";
import type { Ending, EndingWatch } from "./ending.js";

type Node = HoldfastNode<PostgresTransaction>;

/** A node that has failed gets this long to give up its roles and say goodbye; its sessions end with the process anyway. */
const crashPatienceMs = 2_000;
/** Beside the drain itself: releasing, leaving, closing connections. */
export const closePatienceMs = 15_000;

/** Told when a node answers at this address. What it returns is put away when the process is about to end. */
export type Attendant = (node: Node, url: string) => Disposable;

export interface ServeExtras {
  readonly attend?: Attendant | null;
  /** The folder of the message graph. */
  readonly graph?: string | null;
  /** What the node works on itself. */
  readonly employment?: Employment;
}

/** Runs one node until it is asked to end, and answers with the exit code. */
export async function serve(
  config: Config,
  log: Logger,
  ending: EndingWatch,
  { attend = null, graph = null, employment = {} }: ServeExtras = {},
): Promise<number> {
  const atOnce = ending.second.then((signal) => {
    log.warn(`second signal (${signal}): stopping at once, whatever is under way`);
    return 1;
  });
  const extras = { attend, graph, employment };
  return await Promise.race([atOnce, serveUntil(config, { log, ending, ...extras })]);
}

async function serveUntil(
  config: Config,
  parts: { readonly log: Logger; readonly ending: EndingWatch } & Required<ServeExtras>,
): Promise<number> {
  const { log, attend, graph, employment } = parts;
  const ending = parts.ending.first;
  // A folder that is not sound is told before anything begins.
  const loaded = graph === null ? null : await loadGraph(graph, config);
  const node = await start(config, log, ending);
  if (node === null) {
    log.info("stopped before it had started");
    return 0;
  }
  const unusable = new Promise<HoldfastError>((resolve) => node.once("failed", resolve));
  let server: RunningServer | null = null;
  try {
    if (contends(config)) node.role(config.primaryRole);
    if (handsOutJobs(config)) createJobs(node, employment);
    else node.worker.employ(employment);
    if (loaded !== null) {
      const engine = await node.engine.open(loaded);
      parts.ending.spare((error, origin) => isGraphs(engine, { error, origin }, log));
    }
    server = await startServer(node);
  } catch (error) {
    await node.close();
    throw error;
  }
  log.info({ node_id: node.id, url: server.url }, `listening at ${server.url}`);
  using _attended = attend?.(node, config.api.publicUrl === "" ? server.url : config.api.publicUrl);
  const why = await Promise.race([ending, unusable]);
  if (why instanceof HoldfastError) {
    await stopSoon(node, server);
    throw why;
  }
  if (why.kind === "crash") {
    log.fatal({ err: why.error, node_id: node.id }, "an error got past everybody: this node stops");
    await stopSoon(node, server);
    return 1;
  }
  return await stopInOrder(config, { node, server, log, signal: why.signal });
}

/** What a module of the graph has left behind and what then failed is the module's mistake: no reason to end the node. */
function isGraphs(
  engine: Engine,
  { error, origin }: { readonly error: unknown; readonly origin: CrashOrigin },
  log: Logger,
): boolean {
  const place = engine.placeOfStray(error, origin);
  if (place === null) return false;
  const reason = errorText(error);
  log.error({ place, reason }, `what the config folder left behind has failed at ${place}: its functions do no I/O`);
  return true;
}

/** Null where the start was called off: it gets a moment to put away what it has begun. */
async function start(config: Config, log: Logger, ending: Promise<Ending>): Promise<Node | null> {
  const calledOff = new AbortController();
  const starting = startNode(withPublicUrl(config), { log, serves: true, signal: calledOff.signal });
  starting.catch(() => undefined); // Told by whoever waits for it.
  const first = await Promise.race([starting, ending]);
  if (!("kind" in first)) return first;
  calledOff.abort();
  if (first.kind === "crash") throw first.error;
  const stopped = starting.then((node) => node.close()).catch(() => undefined);
  await within(crashPatienceMs, stopped);
  return null;
}

/** Others find this node by its row and by its leases, so its address has to be known before it joins. */
function withPublicUrl(config: Config): Config {
  const { api } = config;
  if (api.publicUrl !== "" || api.port === 0) return config;
  return Object.freeze({ ...config, api: Object.freeze({ ...api, publicUrl: publicUrlOf(config, hostname()) }) });
}

/** A node without the scheduler's room leads nothing by itself. */
function contends({ cluster, primaryRole }: Config): boolean {
  if (!cluster.leaderElection.enabled) return false;
  return primaryRole !== "scheduler" || cluster.roles.includes("scheduler");
}

/** The scheduler's room is the jobs'. */
function handsOutJobs({ cluster }: Config): boolean {
  return cluster.leaderElection.enabled && cluster.roles.includes("scheduler");
}

/** Not ready and no new work; what is under way ends; the roles are given up; the node leaves; and only then the port closes. */
async function stopInOrder(
  config: Config,
  { node, server, log, signal }: { node: Node; server: RunningServer; log: Logger; signal: NodeJS.Signals },
): Promise<number> {
  const { drainTimeoutSeconds } = config.shutdown;
  log.info(
    { node_id: node.id, under_way: node.work.count },
    `${signal}: draining for at most ${drainTimeoutSeconds} s; a second signal stops at once`,
  );
  let late = false;
  const stopping = async (): Promise<void> => {
    // From here on nobody can take the drain back.
    await node.close();
    await server.close();
  };
  await within(drainTimeoutSeconds * 1000 + closePatienceMs, stopping(), () => {
    late = true;
  });
  if (late) {
    log.error({ node_id: node.id }, "the node did not stop in time: its lease and its row run out by themselves");
    return 1;
  }
  log.info({ node_id: node.id }, "stopped");
  return 0;
}

async function stopSoon(node: Node, server: RunningServer): Promise<void> {
  const stopping = Promise.allSettled([node.close(), server.close()]).then(() => undefined);
  await within(crashPatienceMs, stopping);
}
