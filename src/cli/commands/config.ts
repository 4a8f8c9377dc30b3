import { Command } from "commander";
import { describeConfig, type SettingRow } from "../../config/describe-config.js";
import { loadConfig } from "../../config/load-config.js";
import { notYetLine, statedNotYet } from "../../config/not-yet.js";
import { checkServing } from "../../config/serving.js";
import type { CommandLine } from "../command-line.js";
import { type DatabaseOptions, withDatabaseOptions } from "../database-options.js";
import { lookOf, printJson, printLines } from "../print.js";
import { type Column, renderTable } from "../table.js";

interface CheckOptions extends DatabaseOptions {
  readonly json?: boolean;
}

export function configCommand(cli: CommandLine): Command {
  return new Command("config").description("the settings").addCommand(checkCommand(cli));
}

function checkCommand(cli: CommandLine): Command {
  return withDatabaseOptions(new Command("check"))
    .description("read and check the settings as a serving node would, and show them with where each comes from")
    .option("--json", "print them as JSON")
    .action(async (options: CheckOptions) => {
      const loaded = loadConfig({ file: options.serviceConfig ?? null, env: cli.env, cwd: cli.cwd });
      checkServing(loaded.config);
      const { placeOf } = await import("../../maintenance.js");
      const rows = describeConfig(loaded.config, loaded.sources, placeOf(loaded.config).tls);
      if (options.json === true) {
        const settings = rows.map(({ key, value, source }) => ({ key, value, source }));
        return printJson(cli, { ok: true, file: loaded.file, settings, not_yet: statedNotYet(loaded.sources) });
      }
      const ineffective = notYetLine(loaded.sources);
      const from = loaded.file === null ? "no file, and the environment" : `${loaded.file} and the environment`;
      printLines(cli, [
        ...renderTable(columns, rows, lookOf(cli)),
        "",
        `These settings are sound. They come from ${from}.`,
        ...(ineffective === null ? [] : [ineffective]),
      ]);
    });
}

const columns: readonly Column<SettingRow>[] = [
  { title: "setting", cell: (row) => row.key, tone: (row) => (row.source === "default" ? "dim" : null) },
  { title: "value", cell: (row) => row.text },
  { title: "from", cell: (row) => row.source, tone: (row) => (row.source === "default" ? "dim" : "good"), whole: true },
];
