import type { Config } from "../config/config.js";
import { HoldfastError } from "../errors.js";
import type { ConnectionBook } from "../store/connection-contract.js";
import type { EngineBook } from "../store/engine-contract.js";
import type { OpenOutside } from "../store/outside-contract.js";
import type { EngineMetrics } from "../telemetry/engine-metrics.js";
import { ConfigFolder, type Loaded } from "./config-folder/config-folder.js";
import { Convergence } from "./convergence.js";
import { Engine } from "./engine.js";
import type { EngineNode } from "./engine-parts.js";
import { openDestination, openSource } from "./open-transport.js";
import { ReferenceBuilder } from "./reference-builder.js";
import { originsOf } from "./reference-origins.js";
import { Replaying } from "./replay.js";

/** What a node gives to its engine. */
export interface EngineHost {
  readonly node: EngineNode & { readonly config: Config };
  readonly book: EngineBook;
  readonly connectionBook: ConnectionBook;
  readonly metrics: EngineMetrics;
  readonly openOutside: OpenOutside;
  readonly me: ConstructorParameters<typeof Convergence>[0]["me"];
}

/** A folder that was found sound. */
export interface LoadedGraph {
  readonly folder: ConfigFolder;
  readonly loaded: Loaded;
}

/** The engine of a node, and what it runs. */
export interface RunningEngine {
  readonly engine: Engine;
  readonly convergence: Convergence;
  readonly replaying: Replaying;
}

const day = 86_400_000;

/** Reads the folder of a node's graph. Whatever is wrong with it is told at once, a line each. */
export async function loadGraph(path: string, { api }: Pick<Config, "api">): Promise<LoadedGraph> {
  const folder = new ConfigFolder({ path, api });
  const loaded = await folder.load();
  if (loaded.kind === "loaded") return { folder, loaded };
  const { problems } = loaded;
  throw new HoldfastError("BAD_SETTINGS", problems.join("\n"), { details: { problems } });
}

/** From here on the node contends for role `engine`. */
export function createEngine(
  { node, book, connectionBook, metrics, me, openOutside }: EngineHost,
  { folder, loaded }: LoadedGraph,
): RunningEngine {
  const { clock, log, config } = node;
  const { historyDays } = config.retention;
  const engine = new Engine({
    node,
    book,
    connectionBook,
    loaded,
    metrics,
    openSource: (inbound, accept) => openSource(inbound, accept, { clock, log, openOutside }),
    openDestination: (outbound) => openDestination(outbound, { clock, log, openOutside }),
    references: new ReferenceBuilder({ book, clock, log, read: originsOf(folder.path, openOutside) }),
    historyMs: historyDays === 0 ? null : historyDays * day,
    // Some of the trust is spent already, and a renewal takes its time too.
    doubtfulMs: (config.cluster.leaderFenceTimeoutSeconds * 1000) / 3,
    convergence: () => convergence,
  });
  const apply = async (next: Loaded): Promise<void> => await engine.apply(next);
  const caughtUp = (): void => engine.queue.reconsider();
  const convergence = new Convergence({ folder, book, me, log, first: loaded, apply, caughtUp });
  return { engine, convergence, replaying: new Replaying(engine, book) };
}
