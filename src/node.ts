import { type Logger, pino } from "pino";
import { Registry } from "prom-client";
import { type Config, type ConfigOptions, resolveConfig } from "./config/config.js";
import { systemClock } from "./election/clock.js";
import { HoldfastNode } from "./holdfast-node.js";
import { reportOf } from "./membership/node-report.js";
import type { NodeReport } from "./membership/node-row.js";
import type { NodeParts } from "./node-parts.js";
import { type EmbeddedServer, startEmbedded } from "./store/embedded/server.js";
import { connectionOf, connectionOfPool } from "./store/postgres/connection.js";
import { type PostgresPool, PostgresStore, type PostgresTransaction } from "./store/postgres/store.js";

export type { PostgresPool, PostgresTransaction } from "./store/postgres/store.js";

/** The settings of a node, in camelCase, and what it may use of yours. docs/reference/settings.md has every one. */
export interface NodeOptions extends Omit<ConfigOptions, "store"> {
  readonly store?: (NonNullable<ConfigOptions["store"]> & { readonly pool?: PostgresPool | undefined }) | undefined;
  /** Your own pino logger; without it one is made that writes to standard output. */
  readonly logger?: Logger | undefined;
  /** Your own prom-client registry. */
  readonly registry?: Registry | undefined;
}

/** Starts a node: reads no file and no environment, binds no port. Resolves when it has joined. */
export async function createNode(options: NodeOptions = {}): Promise<HoldfastNode<PostgresTransaction>> {
  const { logger, registry, store: storeOptions, ...rest } = options;
  const { pool, ...given } = storeOptions ?? {};
  const config = resolveConfig({ ...rest, store: given }, pool !== undefined);
  const log = logger ?? pino({ name: "holdfast" });
  return await startNode(config, { log, registry, pool, serves: false });
}

/** Starts a node by settings that were read before. `serves`: an HTTP server will stand beside it. */
export async function startNode(
  config: Config,
  options: {
    readonly log: Logger;
    readonly registry?: Registry | undefined;
    readonly pool?: PostgresPool | undefined;
    readonly serves: boolean;
    /** Calls the start off. */
    readonly signal?: AbortSignal | undefined;
  },
): Promise<HoldfastNode<PostgresTransaction>> {
  const { log, registry, pool = null, serves } = options;
  const server = config.backend === "embedded" ? await startEmbedded({ dataDir: config.store.dataDir }) : null;
  try {
    const report = reportOf(config, { serves });
    const parts: NodeParts<PostgresTransaction> = {
      config,
      report,
      store: openStore(config, { report, pool, server, log }),
      clock: systemClock,
      random: Math.random,
      log,
      registry: registry ?? new Registry(),
      afterClose: async () => await server?.stop(),
    };
    return await HoldfastNode.start(parts, options.signal);
  } catch (error) {
    await server?.stop();
    throw error;
  }
}

function openStore(
  config: Config,
  given: { report: NodeReport; pool: PostgresPool | null; server: EmbeddedServer | null; log: Logger },
): PostgresStore {
  const { report, pool, server, log } = given;
  const url = server?.url ?? config.store.url.reveal();
  const connection = pool !== null && url === "" ? connectionOfPool(pool) : connectionOf(config, url);
  const { electionUrl } = config.store;
  return new PostgresStore({
    connection,
    electionConnection: electionUrl.isEmpty ? connection : connectionOf(config, electionUrl.reveal()),
    pool,
    poolSize: config.store.poolSize,
    schema: config.store.schema,
    cluster: config.cluster.name,
    migrate: config.store.migrate,
    timing: config.timing,
    node: report,
    warn: (message, details) => log.warn(details, message),
  });
}
