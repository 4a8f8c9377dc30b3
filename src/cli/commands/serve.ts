import { resolve } from "node:path";
import { Command } from "commander";
import type { Config } from "../../config/config.js";
import { loadConfig, type Sources } from "../../config/load-config.js";
import { isLoopback } from "../../config/loopback.js";
import { notYetLine } from "../../config/not-yet.js";
import { checkServing } from "../../config/serving.js";
import { type CommandLine, Ended } from "../command-line.js";
import { tellingOfLog } from "../embedded-log.js";
import { watchForEnding } from "../ending.js";
import { paintFor } from "../paint.js";

interface ServeOptions {
  readonly serviceConfig?: string;
}

export function serveCommand(cli: CommandLine): Command {
  return new Command("serve")
    .description("run one node; without settings a single one on the embedded PostgreSQL")
    .option("--service-config <file>", "the settings; by default holdfast.toml where it runs")
    .action(async (options: ServeOptions) => {
      // The server is loaded by the one command that needs it: the others answer sooner.
      const [{ serve }, { createLog }] = await Promise.all([import("../serving.js"), import("../pretty-log.js")]);
      const { config, sources } = loadConfig({ file: options.serviceConfig ?? null, env: cli.env, cwd: cli.cwd });
      checkServing(config);
      const stated = Object.hasOwn(sources, "log.format");
      const pretty = stated ? config.log.format === "pretty" : cli.stdout.isTTY;
      const log = createLog(config, { output: cli.stdout, pretty, paint: paintFor(cli.stdout, cli.env) });
      for (const warning of warningsOf(config, sources)) log.warn(warning);
      const ending = watchForEnding(cli);
      try {
        const exitCode = await tellingOfLog(resolve(cli.cwd, config.store.dataDir), () => serve(config, log, ending));
        if (exitCode !== 0) throw new Ended(exitCode);
      } finally {
        ending[Symbol.dispose]();
      }
    });
}

/** What a node can start with, and its operator may not have meant. */
function warningsOf({ cluster, api }: Config, sources: Sources): readonly string[] {
  const unreachable = cluster.enabled && isLoopback(api.host) && api.publicUrl === "";
  const ineffective = notYetLine(sources);
  return [
    ...(unreachable
      ? [`api.host (${api.host}) is this machine's own and api.public_url is empty: other hosts cannot reach this node`]
      : []),
    ...(ineffective === null ? [] : [ineffective]),
  ];
}
