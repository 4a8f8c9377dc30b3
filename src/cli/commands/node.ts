import { Command } from "commander";
import type { Duration } from "../../config/duration.js";
import { HoldfastError } from "../../errors.js";
import type { NodeAnswer, NodesAnswer, RequestAnswer } from "../../server/cluster-answers.js";
import { statusTone } from "../cluster-tables.js";
import type { CommandLine } from "../command-line.js";
import { drainNode } from "../draining.js";
import { formatAgo, formatMoment } from "../elapsed.js";
import { clientOf, durationOption, type ReadingOptions, withReadingOptions } from "../node-options.js";
import { oneLine } from "../paint.js";
import { lookOf, pairs, printJson, printLines } from "../print.js";

export function nodeCommand(cli: CommandLine): Command {
  return new Command("node")
    .description("one node")
    .addCommand(showCommand(cli))
    .addCommand(drainCommand(cli))
    .addCommand(resumeCommand(cli));
}

function showCommand(cli: CommandLine): Command {
  return withReadingOptions(new Command("show"))
    .description("all that is known of a node")
    .argument("<id>", "the node")
    .action(async (id: string, options: ReadingOptions) => {
      const { nodes } = await clientOf(cli, options).get<NodesAnswer>("/cluster/nodes");
      const node = nodes.find((each) => each.node_id === id);
      if (node === undefined) {
        const known = nodes.map((each) => each.node_id).join(", ") || "none";
        throw new HoldfastError("UNKNOWN_NODE", `There is no node "${id}" in this cluster; known: ${known}.`);
      }
      if (options.json === true) printJson(cli, node);
      else printLines(cli, nodeLines(cli, node));
    });
}

function nodeLines(cli: CommandLine, node: NodeAnswer): readonly string[] {
  const { paint, now } = lookOf(cli);
  const share = (value: number): string => `${Math.round(value * 100)} %`;
  const rows: readonly (readonly [string, string])[] = [
    ["node", oneLine(node.node_id)],
    ["status", paint(statusTone(node.status), node.status)],
    ["leads the primary role", node.is_leader ? "yes" : "no"],
    ["promotable", node.promotable ? "yes" : "no"],
    [
      "started",
      node.started_at === null ? "-" : `${formatMoment(node.started_at)} (${formatAgo(node.started_at, now)})`,
    ],
    ["last seen", formatAgo(node.last_seen, now)],
    ["host", oneLine(node.host)],
    ["pid", String(node.pid)],
    ["address", oneLine(`${node.ip_address ?? "-"} port ${node.http_port ?? "-"}`)],
    ["url", oneLine(node.url ?? "-")],
    ["roles", node.roles.map(oneLine).join(", ") || "-"],
    ["capabilities", node.worker_capabilities.map(oneLine).join(", ") || "-"],
    ["version", oneLine(node.version)],
    ["config version", String(node.config_version)],
    ["connections", String(node.current_connections)],
    ["jobs", String(node.current_jobs)],
    ["cpu", share(node.cpu_usage)],
    ["memory", share(node.memory_usage)],
  ];
  return pairs(rows, paint);
}

interface DrainOptions extends ReadingOptions {
  readonly wait: boolean;
  readonly timeout: Duration;
}

function drainCommand(cli: CommandLine): Command {
  return withReadingOptions(new Command("drain"))
    .description("let a node finish what it has, give up its roles, and stay a follower")
    .argument("<id>", "the node")
    .option("--no-wait", "only ask for it")
    .addOption(durationOption("--timeout <duration>", "how long to wait", "60s"))
    .action(async (id: string, options: DrainOptions) => {
      const timeoutMs = options.wait ? options.timeout.ms : 0;
      const answer = await drainNode(cli, clientOf(cli, options), { id, timeoutMs });
      if (options.json === true) return printJson(cli, answer);
      const done = answer.acted_at !== null;
      printLines(cli, [
        done ? `${id} is drained; "holdfast node resume ${id}" takes it back.` : `${id} was asked to drain.`,
      ]);
    });
}

function resumeCommand(cli: CommandLine): Command {
  return withReadingOptions(new Command("resume"))
    .description("let a drained node take work and contend again")
    .argument("<id>", "the node")
    .action(async (id: string, options: ReadingOptions) => {
      const path = `/cluster/nodes/${encodeURIComponent(id)}/resume`;
      const answer = await clientOf(cli, options).post<RequestAnswer>(path, { timeoutMs: 20_000 });
      if (options.json === true) return printJson(cli, answer);
      printLines(cli, [
        answer.acted_at === null ? `${id} was asked to resume, and has not answered yet.` : `${id} is active again.`,
      ]);
    });
}
