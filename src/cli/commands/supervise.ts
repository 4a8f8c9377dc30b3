import { statSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { Command, Option } from "commander";
import type { Config } from "../../config/config.js";
import { loadConfig } from "../../config/load-config.js";
import { checkServing } from "../../config/serving.js";
import { HoldfastError } from "../../errors.js";
import type { PlanParts } from "../../supervisor/child-plan.js";
import type { SupervisorSettings } from "../../supervisor/core/supervisor-state.js";
import { type CommandLine, Ended } from "../command-line.js";
import { withDatabaseOptions } from "../database-options.js";
import { watchForEnding } from "../ending.js";
import { paintFor } from "../paint.js";

interface SuperviseOptions {
  readonly serviceConfig?: string;
  readonly ops?: string;
  readonly agentUrl?: string;
  readonly agentProgram?: string;
}

const program = fileURLToPath(new URL("../main.js", import.meta.url));

/** Beside its own drain a controller takes up to 15 s to release, leave and close; it gets a little more than that. */
const controllerSlackMs = 20_000;
/** The tasks of an agent get at least so long to end. */
const leastAgentDrainMs = 1_000;
/** Then it reports what is done, and gives the rest back. */
const agentSlackMs = 2_000;

export function superviseCommand(cli: CommandLine): Command {
  return withDatabaseOptions(new Command("supervise"))
    .description("the node-controller: runs a controller and, beside a standby, an agent; restarts both")
    .option("--ops <dir>", "the operations that the agent runs; needed where supervisor.moonlight is set")
    .option("--agent-url <url>", "where the agent asks for work first; by default its own controller")
    .addOption(new Option("--agent-program <file>", "a script in place of holdfast agent, for tests").hideHelp())
    .action(async (options: SuperviseOptions) => {
      const exitCode = await supervise(cli, options);
      if (exitCode !== 0) throw new Ended(exitCode);
    });
}

async function supervise(cli: CommandLine, options: SuperviseOptions): Promise<number> {
  // Loaded by the one command that needs them: the others answer sooner.
  const [{ createLog, prettyLine }, { Supervisor }, { startChild }, { systemClock }] = await Promise.all([
    import("../pretty-log.js"),
    import("../../supervisor/supervisor.js"),
    import("../../supervisor/child-process.js"),
    import("../../election/clock.js"),
  ]);
  const { config, sources } = loadConfig({ file: options.serviceConfig ?? null, env: cli.env, cwd: cli.cwd });
  checkServing(config);
  const settings = settingsOf(config);
  const plans = plansOf(cli, options, config);
  const paint = paintFor(cli.stdout, cli.env);
  const pretty = Object.hasOwn(sources, "log.format") ? config.log.format === "pretty" : cli.stdout.isTTY;
  const log = createLog(config, { output: cli.stdout, pretty, paint });
  for (const warning of warningsOf(config)) log.warn(warning);
  const write = (line: string): void => cli.stdout.write(pretty ? prettyLine(line, paint) : line);
  const supervisor = new Supervisor({
    settings,
    plans,
    start: startChild,
    clock: systemClock,
    random: Math.random,
    log,
    write,
  });
  using ending = watchForEnding(cli);
  let crashed = false;
  void ending.first.then((why) => {
    if (why.kind === "signal") log.info(`${why.signal}: stopping both children; a second signal stops at once`);
    else log.fatal({ err: why.error }, "an error got past everybody: the node-controller stops");
    crashed = why.kind === "crash";
    supervisor.stop();
  });
  void ending.second.then((signal) => {
    log.warn(`second signal (${signal}): stopping at once, whatever is under way`);
    supervisor.stopAtOnce();
  });
  supervisor.start();
  const exitCode = await supervisor.ended;
  log.info("stopped");
  return crashed ? 1 : exitCode;
}

function settingsOf({ supervisor, shutdown, jobs }: Config): SupervisorSettings {
  return {
    moonlight: supervisor.moonlight,
    stopMs: {
      controller: shutdown.drainTimeoutSeconds * 1000 + controllerSlackMs,
      agent: agentDrainMs({ jobs }) + agentSlackMs,
    },
    backoff: { firstMs: 250, capMs: 30_000 },
    healthyMs: 30_000,
    loopAfter: 5,
  };
}

function agentDrainMs({ jobs }: Pick<Config, "jobs">): number {
  return Math.max(leastAgentDrainMs, Math.round(jobs.drainGraceSeconds * 1000));
}

function plansOf(cli: CommandLine, options: SuperviseOptions, config: Config): PlanParts {
  const { ops, agentProgram } = options;
  if (config.supervisor.moonlight && ops === undefined) {
    throw new HoldfastError(
      "USAGE",
      "supervisor.moonlight = true needs --ops DIR: the operations that the agent runs.",
    );
  }
  const directory = resolve(cli.cwd, ops ?? ".");
  if (!isDirectory(directory)) {
    throw new HoldfastError("USAGE", `--ops must name a directory that can be read, and ${directory} is none.`);
  }
  return {
    program,
    agentProgram: agentProgram === undefined ? null : resolve(cli.cwd, agentProgram),
    env: cli.env,
    cwd: cli.cwd,
    serviceConfig: options.serviceConfig ?? null,
    agentUrl: options.agentUrl === undefined ? null : checkUrl(options.agentUrl),
    ops: directory,
    agentDrainMs: agentDrainMs(config),
    stopMs: settingsOf(config).stopMs,
  };
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

/** What is allowed, and may not be meant. */
function warningsOf({ supervisor, cluster }: Config): readonly string[] {
  if (!supervisor.moonlight) return [];
  return [
    ...(cluster.enabled
      ? []
      : ["supervisor.moonlight without cluster.enabled: a single node always leads, so its agent never works"]),
    ...(cluster.nodeId === ""
      ? ["supervisor.moonlight without cluster.node_id: the agent has another name after each start of the controller"]
      : []),
  ];
}

/** An address that is wrong is not shown: it may be the credentials in it. */
function checkUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !["http:", "https:"].includes(url.protocol) || url.username !== "" || url.password !== "") {
    const mustBe = "an address like http://127.0.0.1:7400, without credentials";
    throw new HoldfastError("USAGE", `--agent-url must be ${mustBe}: the agent's token is in HOLDFAST_TOKEN.`);
  }
  return text;
}
