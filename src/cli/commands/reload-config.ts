import { Command } from "commander";
import type { Duration } from "../../config/duration.js";
import { HoldfastError } from "../../errors.js";
import type { ReloadAnswer, VersionAnswer } from "../../server/config-routes.js";
import { statusTone } from "../cluster-tables.js";
import { type CommandLine, Ended } from "../command-line.js";
import type { NodeClient } from "../node-client.js";
import { clientOf, durationOption, type ReadingOptions, withReadingOptions } from "../node-options.js";
import { oneLine } from "../paint.js";
import { lookOf, printJson, printLines } from "../print.js";
import { type Column, renderTable } from "../table.js";

interface ReloadOptions extends ReadingOptions {
  readonly dryRun?: boolean;
  readonly wait: boolean;
  readonly within: Duration;
}

/** Connections are opened meanwhile, and a node waits for them for a minute. */
const patienceMs = 65_000;
/** How often somebody looks who waits for the other nodes: they hear of it with their next beat. */
const lookMs = 250;

export function reloadCommand(cli: CommandLine): Command {
  return withReadingOptions(new Command("reload"))
    .description("load the leader's config folder anew, and have the other nodes load theirs; ask the leader of engine")
    .option("--dry-run", "only say what would change, or what is wrong with the folder")
    .option("--no-wait", "do not wait for the other nodes")
    .addOption(durationOption("--within <duration>", "how long to wait for them", "15s"))
    .action(async (options: ReloadOptions) => {
      const client = clientOf(cli, options);
      const before = options.wait ? await client.get<VersionAnswer>("/config/version") : null;
      const path = `/config/reload${options.dryRun === true ? "?dry_run=true" : ""}`;
      const answer = await tellingProblems(() => client.post<ReloadAnswer>(path, { timeoutMs: patienceMs }));
      if (options.json !== true) printLines(cli, linesOf(answer));
      if (options.dryRun === true || before === null) return options.json === true ? printJson(cli, answer) : undefined;
      const seen = await untilConverged(cli, client, { version: answer.version, before, ...options });
      if (options.json === true) printJson(cli, { ...answer, converged: seen.converged, nodes: seen.nodes });
      else printLines(cli, endOf(seen));
      if (!seen.converged) throw new Ended(1);
    });
}

/** The node answers with all problems in a row; here each has its line. */
async function tellingProblems<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    const { details } = (error.details.answer ?? {}) as { readonly details?: { readonly problems?: unknown } };
    if (!Array.isArray(details?.problems) || !details.problems.every((problem) => typeof problem === "string"))
      throw error;
    const { problems } = details;
    throw new HoldfastError("BAD_SETTINGS", error.message, { cause: error, details: { problems } });
  }
}

function linesOf({
  dry_run: dryRun,
  version,
  hash,
  changed,
  added,
  removed,
  warnings,
}: ReloadAnswer): readonly string[] {
  const said = dryRun ? "would run" : `runs as version ${version}`;
  const what = changed ? `The folder (${hash.slice(0, 12)}) ${said}.` : `The folder is as before, and ${said}.`;
  return [
    ...warnings.map((warning) => `warning: ${oneLine(warning)}`),
    ...added.map((name) => `new: ${name}`),
    ...removed.map((name) => `gone: ${name}`),
    what,
  ];
}

interface Awaited extends ReloadOptions {
  readonly version: number;
  readonly before: VersionAnswer;
}

async function untilConverged(
  cli: CommandLine,
  client: NodeClient,
  { version, before, within }: Awaited,
): Promise<VersionAnswer> {
  const errors = new Map(before.nodes.map((node) => [node.node_id, node.error]));
  const until = performance.now() + within.ms;
  for (let said = ""; ; ) {
    const seen = await client.get<VersionAnswer>("/config/version");
    // A node that has said why it cannot will not change its mind; what it said before is about an older version.
    const hasFailed = ({ node_id: id, error }: NodeVersion): boolean => error !== null && error !== errors.get(id);
    const awaited = seen.nodes.filter((node) => node.version < version && !hasFailed(node));
    if (awaited.length === 0 || performance.now() > until) return seen;
    const line = `waiting for ${awaited.map((node) => node.node_id).join(", ")}`;
    if (line !== said) cli.stderr.write(`${line}\n`);
    said = line;
    await new Promise((done) => setTimeout(done, lookMs));
  }
}

function endOf({ converged, nodes, version }: VersionAnswer): readonly string[] {
  if (converged)
    return [`${nodes.length === 1 ? "The node runs" : `All ${nodes.length} nodes run`} version ${version}.`];
  return nodes
    .filter((node) => !node.converged)
    .map((node) => `Node ${node.node_id} does not: ${whyOf(node, version)}`);
}

type NodeVersion = VersionAnswer["nodes"][number];

function whyOf({ error, version: own, hash }: NodeVersion, version: number): string {
  if (error !== null) return oneLine(error);
  if (own < version) return `it still runs version ${own}.`;
  return `its folder is another one (${hash.slice(0, 12)}): give it the leader's.`;
}

export function versionCommand(cli: CommandLine): Command {
  return withReadingOptions(new Command("version"))
    .description("the shared version of the message graph, what each node runs of it, and why one does not")
    .action(async (options: ReadingOptions) => {
      const answer = await clientOf(cli, options).get<VersionAnswer>("/config/version");
      if (options.json === true) return printJson(cli, answer);
      const { nodes, version } = answer;
      if (nodes.length === 0)
        return printLines(cli, ["No node runs a message graph: `holdfast serve --config DIR` does."]);
      const columns: readonly Column<NodeVersion>[] = [
        { title: "node", cell: (node) => node.node_id, tone: () => "strong" },
        { title: "status", cell: (node) => node.status, tone: (node) => statusTone(node.status), whole: true },
        { title: "version", cell: (node) => String(node.version), align: "right", whole: true },
        { title: "folder", cell: (node) => node.hash.slice(0, 12), whole: true },
        {
          title: "why not",
          cell: (node) => (node.converged ? "-" : whyOf(node, version)),
          tone: (node) => (node.converged ? "dim" : "bad"),
        },
      ];
      printLines(cli, [
        ...renderTable(columns, nodes, lookOf(cli)),
        "",
        `The shared version is ${version}.`,
        ...referenceLines(cli, answer),
      ]);
    });
}

type SeenReference = VersionAnswer["references"][number];

function referenceLines(cli: CommandLine, { references }: VersionAnswer): readonly string[] {
  if (references.length === 0) return [];
  const columns: readonly Column<SeenReference>[] = [
    { title: "reference", cell: ({ name }) => name, tone: () => "strong" },
    { title: "version", cell: ({ version }) => String(version ?? "-"), align: "right", whole: true },
    { title: "rows", cell: ({ rows }) => String(rows ?? "-"), align: "right", whole: true },
    {
      title: "why it could not be built anew",
      cell: ({ error, version }) =>
        error === null ? "-" : `${oneLine(error)}${version === null ? " Messages that need it wait." : ""}`,
      tone: ({ error }) => (error === null ? "dim" : "bad"),
    },
  ];
  return ["", ...renderTable(columns, references, lookOf(cli))];
}
