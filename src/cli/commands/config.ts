import { resolve } from "node:path";
import { Command } from "commander";
import { describeConfig, type SettingRow } from "../../config/describe-config.js";
import { loadConfig } from "../../config/load-config.js";
import { checkServing } from "../../config/serving.js";
import type { Loaded, LoadedFolder } from "../../engine/config-folder/config-folder.js";
import { HoldfastError } from "../../errors.js";
import { type CommandLine, Ended } from "../command-line.js";
import { type DatabaseOptions, withDatabaseOptions } from "../database-options.js";
import { graphColumns, graphRows } from "../graph-table.js";
import { lookOf, printJson, printLines } from "../print.js";
import { type Column, renderTable } from "../table.js";
import { reloadCommand, versionCommand } from "./reload-config.js";

interface CheckOptions extends DatabaseOptions {
  readonly json?: boolean;
}

export function configCommand(cli: CommandLine): Command {
  return new Command("config")
    .description("the settings, and the message graph")
    .addCommand(checkCommand(cli))
    .addCommand(reloadCommand(cli))
    .addCommand(versionCommand(cli));
}

function checkCommand(cli: CommandLine): Command {
  return withDatabaseOptions(new Command("check"))
    .description("read and check the settings as a serving node would, and show them with where each comes from")
    .argument("[dir]", "a config folder: its message graph is checked in place of the settings")
    .option("--json", "print them as JSON")
    .action(async (dir: string | undefined, options: CheckOptions) =>
      dir === undefined ? await checkSettings(cli, options) : await checkFolder(cli, dir, options),
    );
}

async function checkSettings(cli: CommandLine, options: CheckOptions): Promise<void> {
  const loaded = loadConfig({ file: options.serviceConfig ?? null, env: cli.env, cwd: cli.cwd });
  checkServing(loaded.config);
  const { placeOf } = await import("../../maintenance.js");
  const rows = describeConfig(loaded.config, loaded.sources, placeOf(loaded.config).tls);
  if (options.json === true) {
    const settings = rows.map(({ key, value, source }) => ({ key, value, source }));
    return printJson(cli, { ok: true, file: loaded.file, settings });
  }
  const from = loaded.file === null ? "no file, and the environment" : `${loaded.file} and the environment`;
  printLines(cli, [
    ...renderTable(columns, rows, lookOf(cli)),
    "",
    `These settings are sound. They come from ${from}.`,
  ]);
}

/** Of the settings only the API's own port matters: no inbound can have it. */
async function checkFolder(cli: CommandLine, dir: string, options: CheckOptions): Promise<void> {
  const { config } = loadConfig({ file: options.serviceConfig ?? null, env: cli.env, cwd: cli.cwd });
  const { ConfigFolder } = await import("../../engine/config-folder/config-folder.js");
  const folder = new ConfigFolder({ path: resolve(cli.cwd, dir), api: config.api });
  const outcome = await folder.load();
  if (options.json === true) {
    printJson(cli, asJson(folder.path, outcome));
    if (outcome.kind === "rejected") throw new Ended(2);
    return;
  }
  if (outcome.kind === "rejected") {
    const { problems } = outcome;
    throw new HoldfastError("BAD_SETTINGS", `The config folder ${folder.path} cannot run.`, { details: { problems } });
  }
  printLines(cli, [
    ...renderTable(graphColumns, graphRows(outcome), lookOf(cli)),
    "",
    ...outcome.warnings.map((warning) => `warning: ${warning}`),
    `This graph is sound: ${countsOf(outcome)}. Its hash is ${outcome.hash.slice(0, 12)}.`,
  ]);
}

function asJson(folder: string, outcome: LoadedFolder): unknown {
  if (outcome.kind === "rejected") return { ok: false, folder, problems: outcome.problems };
  const definitions = graphRows(outcome).map(({ kind, name, file, transport, leadsTo }) => ({
    kind,
    name,
    file,
    transport: transport || null,
    leads_to: leadsTo,
  }));
  return { ok: true, folder, hash: outcome.hash, definitions, warnings: outcome.warnings };
}

function countsOf({ graph: { inbounds, handlers, outbounds } }: Loaded): string {
  const count = ({ size }: ReadonlyMap<string, unknown>, name: string): string =>
    `${size} ${name}${size === 1 ? "" : "s"}`;
  return `${count(inbounds, "inbound")}, ${count(handlers, "handler")}, ${count(outbounds, "outbound")}`;
}

const columns: readonly Column<SettingRow>[] = [
  { title: "setting", cell: (row) => row.key, tone: (row) => (row.source === "default" ? "dim" : null) },
  { title: "value", cell: (row) => row.text },
  { title: "from", cell: (row) => row.source, tone: (row) => (row.source === "default" ? "dim" : "good"), whole: true },
];
