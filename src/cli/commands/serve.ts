import { resolve } from "node:path";
import { Command } from "commander";
import type { Config } from "../../config/config.js";
import { loadConfig, type Sources } from "../../config/load-config.js";
import { isLoopback } from "../../config/loopback.js";
import { checkServing } from "../../config/serving.js";
import { parseRole } from "../../election/core/names.js";
import { engineRole } from "../../engine/engine-role.js";
import type { Operations } from "../../jobs/agent/operation.js";
import type { Employment } from "../../jobs/worker/worker.js";
import { type CommandLine, Ended } from "../command-line.js";
import { withDatabaseOptions } from "../database-options.js";
import { tellingOfLog } from "../embedded-log.js";
import { watchForEnding } from "../ending.js";
import { asCount } from "../node-options.js";
import { paintFor } from "../paint.js";
import type { Attendant } from "../serving.js";

interface ServeOptions {
  readonly serviceConfig?: string;
  readonly ops?: string;
  readonly functions?: string;
  readonly concurrency?: number;
  readonly config?: string;
}

/** What makes a node that serves another kind of node. */
export interface NodeKind {
  readonly settle: (config: Config) => Config;
  readonly attend: Attendant | null;
  readonly warnings: (config: Config, sources: Sources) => readonly string[];
}

const plainNode: NodeKind = { settle: (config) => config, attend: null, warnings: () => [] };

export function serveCommand(cli: CommandLine): Command {
  return servingCommand(cli, "serve", plainNode)
    .description("run one node; without settings a single one on the embedded PostgreSQL")
    .option("--ops <dir>", "operations: the node works on jobs; resize.js there is resize")
    .option("--functions <dir>", "functions: what POST /v1/functions/NAME runs; greet.js there is greet")
    .option("--concurrency <n>", "how many jobs, and beside them functions, run at the same time", asCount, 4);
}

/** A command that runs a node until it is told to stop. */
export function servingCommand(cli: CommandLine, name: string, kind: NodeKind): Command {
  return withDatabaseOptions(new Command(name))
    .option("--config <dir>", "the folder of the message graph; the leader of role engine runs it")
    .action(async (options: ServeOptions) => {
      // The server is loaded by the commands that need it: the others answer sooner.
      const [{ serve }, { createLog }] = await Promise.all([import("../serving.js"), import("../pretty-log.js")]);
      const loaded = loadConfig({ file: options.serviceConfig ?? null, env: cli.env, cwd: cli.cwd });
      const { sources } = loaded;
      const config = graphSettled(kind.settle(loaded.config), options.config !== undefined);
      checkServing(config);
      const graph = options.config === undefined ? null : resolve(cli.cwd, options.config);
      const stated = Object.hasOwn(sources, "log.format");
      const pretty = stated ? config.log.format === "pretty" : cli.stdout.isTTY;
      const log = createLog(config, { output: cli.stdout, pretty, paint: paintFor(cli.stdout, cli.env) });
      for (const warning of [...warningsOf(config), ...kind.warnings(loaded.config, sources)]) log.warn(warning);
      const employment = await employmentOf(cli, options);
      const ending = watchForEnding(cli);
      try {
        const extras = { attend: kind.attend, graph, employment };
        const run = (): Promise<number> => serve(config, log, ending, extras);
        const exitCode = await tellingOfLog(resolve(cli.cwd, config.store.dataDir), run);
        if (exitCode !== 0) throw new Ended(exitCode);
      } finally {
        ending[Symbol.dispose]();
      }
    });
}

/** What the node is to work on itself: modules of folders, loaded before anything is begun. */
async function employmentOf(cli: CommandLine, options: ServeOptions): Promise<Employment> {
  const { ops, functions, concurrency } = options;
  if (ops === undefined && functions === undefined) return {};
  const { loadOperations } = await import("../../jobs/agent/operations-folder.js");
  const load = async (folder: string | undefined, kind: "operation" | "function"): Promise<Operations> =>
    folder === undefined ? {} : await loadOperations(resolve(cli.cwd, folder), kind);
  return { operations: await load(ops, "operation"), functions: await load(functions, "function"), concurrency };
}

/** Where a message graph is configured, its leader is the one that "the leader" means, unless the settings name another. */
function graphSettled(config: Config, hasGraph: boolean): Config {
  if (!hasGraph || config.cluster.primaryRole !== "") return config;
  return Object.freeze({ ...config, primaryRole: parseRole(engineRole) });
}

/** What a node can start with, and its operator may not have meant. */
function warningsOf({ cluster, api }: Config): readonly string[] {
  const unreachable = cluster.enabled && isLoopback(api.host) && api.publicUrl === "";
  const unspoken = cluster.roles.includes("scheduler") && !cluster.roles.includes("gateway");
  return [
    ...(unreachable
      ? [`api.host (${api.host}) is this machine's own and api.public_url is empty: other hosts cannot reach this node`]
      : []),
    ...(unspoken
      ? ["cluster.roles has scheduler without gateway: while this node leads, no agent reaches the jobs"]
      : []),
  ];
}
