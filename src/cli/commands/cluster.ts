import { Command } from "commander";
import type { Duration } from "../../config/duration.js";
import { HoldfastError } from "../../errors.js";
import type {
  InfoAnswer,
  LeaderAnswer,
  NodesAnswer,
  StatusAnswer,
  TransitionAnswer,
} from "../../server/cluster-answers.js";
import type { ListAnswer } from "../../server/page.js";
import { renderHistory, renderLeaders, renderNodes } from "../cluster-tables.js";
import type { CommandLine } from "../command-line.js";
import type { NodeClient } from "../node-client.js";
import { asCount, clientOf, durationOption, type ReadingOptions, withReadingOptions } from "../node-options.js";
import { oneLine } from "../paint.js";
import { lookOf, pairs, printJson, printLines } from "../print.js";
import { LiveCluster } from "../watch/live-cluster.js";
import { watchCluster } from "../watch/watch.js";

export function clusterCommand(cli: CommandLine): Command {
  return new Command("cluster")
    .description("who is here, who leads, what happened")
    .addCommand(statusCommand(cli))
    .addCommand(nodesCommand(cli))
    .addCommand(leadersCommand(cli))
    .addCommand(historyCommand(cli))
    .addCommand(watchCommand(cli));
}

function statusCommand(cli: CommandLine): Command {
  return withReadingOptions(new Command("status"))
    .description("where the node stands, and the cluster in figures")
    .action(async (options: ReadingOptions) => {
      const client = clientOf(cli, options);
      const status = await client.get<StatusAnswer>("/cluster/status");
      if (options.json === true) return printJson(cli, status);
      const info = await readInfo(client);
      printLines(cli, pairs([...statusPairs(status), ...infoPairs(info)], lookOf(cli).paint));
    });
}

/** The status comes from memory, and is worth showing while the database is away. */
async function readInfo(client: NodeClient): Promise<InfoAnswer | HoldfastError> {
  try {
    return await client.get<InfoAnswer>("/cluster/info");
  } catch (error) {
    if (error instanceof HoldfastError) return error;
    throw error;
  }
}

function statusPairs(status: StatusAnswer): readonly (readonly [string, string])[] {
  return [
    ["node", oneLine(status.node_id)],
    ["role", status.role],
    ["leads", status.is_leader ? "yes" : "no"],
    ["config version", String(status.config_version)],
  ];
}

function infoPairs(info: InfoAnswer | HoldfastError): readonly (readonly [string, string])[] {
  if (info instanceof HoldfastError) return [["cluster", oneLine(`${info.message} [${info.code}]`)]];
  const { active_nodes, joining_nodes, draining_nodes, dead_nodes } = info;
  const counts = `${active_nodes} active, ${joining_nodes} joining, ${draining_nodes} draining, ${dead_nodes} dead`;
  const leaders = Object.entries(info.leaders).map(([role, node]) => `${oneLine(node)} leads ${role}`);
  return [
    ["cluster", oneLine(info.name)],
    ["nodes", counts],
    ["leaders", leaders.join(", ") || "nobody leads anything"],
  ];
}

function nodesCommand(cli: CommandLine): Command {
  return withReadingOptions(new Command("nodes"))
    .description("every node, how it is, and who leads the primary role")
    .action(async (options: ReadingOptions) => {
      const answer = await clientOf(cli, options).get<NodesAnswer>("/cluster/nodes");
      if (options.json === true) printJson(cli, answer);
      else printLines(cli, renderNodes(answer.nodes, lookOf(cli)));
    });
}

function leadersCommand(cli: CommandLine): Command {
  return withReadingOptions(new Command("leaders"))
    .description("who leads each role, under which epoch, for how long")
    .action(async (options: ReadingOptions) => {
      const answer = await clientOf(cli, options).get<ListAnswer<LeaderAnswer>>("/cluster/leaders?limit=1000");
      if (options.json === true) printJson(cli, answer);
      else
        printLines(
          cli,
          answer.items.length === 0 ? ["No role is known yet."] : renderLeaders(answer.items, lookOf(cli)),
        );
    });
}

interface HistoryOptions extends ReadingOptions {
  readonly role?: string;
  readonly limit: number;
}

function historyCommand(cli: CommandLine): Command {
  return withReadingOptions(new Command("history"))
    .description("every change of leadership, newest first, with its reason and how long nobody led")
    .option("--role <role>", "of this role alone")
    .option("--limit <number>", "how many, at most 1000", asCount, 30)
    .action(async ({ role, limit, ...options }: HistoryOptions) => {
      const query = new URLSearchParams({
        limit: String(Math.min(limit, 1000)),
        ...(role === undefined ? {} : { role }),
      });
      const answer = await clientOf(cli, options).get<ListAnswer<TransitionAnswer>>(
        `/cluster/history?${query.toString()}`,
      );
      if (options.json === true) printJson(cli, answer);
      else
        printLines(
          cli,
          answer.items.length === 0 ? ["Nothing happened yet."] : renderHistory(answer.items, lookOf(cli)),
        );
    });
}

interface WatchCommandOptions extends ReadingOptions {
  readonly interval: Duration;
}

function watchCommand(cli: CommandLine): Command {
  return withReadingOptions(new Command("watch"))
    .description("the cluster, live: a screen on a terminal, elsewhere a line for each change")
    .addOption(durationOption("--interval <duration>", "how often to look", "500ms"))
    .action(async (options: WatchCommandOptions) => {
      const live = new LiveCluster(clientOf(cli, options));
      await watchCluster(cli, live, { intervalMs: options.interval.ms, json: options.json === true });
    });
}
