import { resolve } from "node:path";
import { Command } from "commander";
import type { Logger } from "pino";
import { settle } from "../../config/config.js";
import type { Duration } from "../../config/duration.js";
import type { Agent } from "../../jobs/agent/agent.js";
import { within } from "../../lifecycle/within.js";
import { type CommandLine, Ended } from "../command-line.js";
import { type EndingWatch, watchForEnding } from "../ending.js";
import { addressesOf, asCount, durationOption, tokenOf } from "../node-options.js";
import { paintFor } from "../paint.js";

interface AgentCommandOptions {
  readonly url?: readonly string[];
  readonly name: string;
  readonly ops: string;
  readonly concurrency: number;
  readonly namespace: string;
  readonly capability?: readonly string[];
  readonly drainTimeout: Duration;
  readonly tokenFile?: string;
}

/** An operation that has failed outside of its call may have broken anything: what is done can still be reported. */
const crashPatienceMs = 2_000;

const gather = (value: string, before: readonly string[] = []): readonly string[] => [...before, value];

export function agentCommand(cli: CommandLine): Command {
  return new Command("agent")
    .description("take jobs from the leader, run their operations and report the results; over HTTP alone")
    .requiredOption("--name <name>", "who this is; its token is bound to it")
    .requiredOption("--ops <dir>", "the operations: resize.js there, with a function as its default export, is resize")
    .option("--url <url>", "a node to begin with, also several; else HOLDFAST_URL, else http://127.0.0.1:7400", gather)
    .option("--concurrency <n>", "how many jobs run at the same time", asCount, 4)
    .option("--namespace <namespace>", "whose jobs it takes", "default")
    .option("--capability <capability>", "what jobs may ask for, also several", gather)
    .addOption(durationOption("--drain-timeout <duration>", "how long jobs may take once it is asked to stop", "30s"))
    .option("--token-file <file>", "a file with the token; else HOLDFAST_TOKEN")
    .action(async (options: AgentCommandOptions) => {
      using ending = watchForEnding(cli);
      const exitCode = await runAgent(cli, options, ending);
      if (exitCode !== 0) throw new Ended(exitCode);
    });
}

async function runAgent(cli: CommandLine, options: AgentCommandOptions, ending: EndingWatch): Promise<number> {
  // Loaded by the one command that needs them: the others answer sooner.
  const [{ Agent }, { loadOperations }] = await Promise.all([
    import("../../jobs/agent/agent.js"),
    import("../../jobs/agent/operations-folder.js"),
  ]);
  const url = addressesOf(cli, options.url ?? []);
  const token = tokenOf(cli, options) ?? undefined;
  const log = await logOf(cli);
  const operations = await loadOperations(resolve(cli.cwd, options.ops));
  const { name, namespace, concurrency, capability: capabilities = [], drainTimeout } = options;
  const drainMs = drainTimeout.ms;
  const agent = new Agent({ url, name, namespace, concurrency, capabilities, operations, token, log, drainMs });
  const told = { agent: name, namespace, concurrency, operations: Object.keys(operations) };
  log.info(told, `agent "${name}" looks for a leader at ${url.join(", ")}`);
  const atOnce = ending.second.then((signal) => {
    log.warn(`second signal (${signal}): stopping at once, whatever is under way`);
    return 1;
  });
  return await Promise.race([atOnce, runUntil(agent, ending, log)]);
}

async function runUntil(agent: Agent, { first }: EndingWatch, log: Logger): Promise<number> {
  const running = agent.run();
  running.catch(() => undefined); // Told below.
  const why = await Promise.race([first, running]);
  if (why?.kind === "crash") {
    log.fatal({ err: why.error }, "an error got past everybody: this agent stops");
    await within(crashPatienceMs, agent.stop());
    return 1;
  }
  if (why?.kind === "signal") {
    const { running: underWay } = agent.counts;
    log.info({ running: underWay }, `${why.signal}: finishing what runs; a second signal stops at once`);
  }
  await agent.stop();
  await running;
  const { leased, accepted, stale, refused, lost, waitingResults } = agent.counts;
  log.info({ leased, accepted, stale, refused, lost, unreported: waitingResults }, "stopped");
  return waitingResults > 0 ? 1 : 0;
}

/** An agent is no node: of the settings it takes only those of the log, and those only from the environment. */
async function logOf(cli: CommandLine): Promise<Logger> {
  const { createLog } = await import("../pretty-log.js");
  const { HOLDFAST_LOG_LEVEL: level, HOLDFAST_LOG_FORMAT: format } = cli.env;
  const given = { ...(level === undefined ? {} : { level }), ...(format === undefined ? {} : { format }) };
  const spelling = { of: "file", fromEnvironment: new Set(["log.level", "log.format"]) } as const;
  const { config, stated } = settle({ log: given }, spelling, { ownConnection: false, problems: [] });
  const pretty = stated.has("log.format") ? config.log.format === "pretty" : cli.stdout.isTTY;
  return createLog(config, { output: cli.stdout, pretty, paint: paintFor(cli.stdout, cli.env) });
}
