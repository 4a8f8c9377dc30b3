import { Command } from "commander";
import type { Config } from "../../config/config.js";
import { loadConfig } from "../../config/load-config.js";
import type { CommandLine } from "../command-line.js";
import { type DatabaseOptions, withDatabaseOptions } from "../database-options.js";
import { printJson } from "../print.js";

export function exportCommand(cli: CommandLine): Command {
  return new Command("export")
    .description("the rules and the metrics, for those who run Prometheus and Grafana")
    .addCommand(rulesCommand(cli))
    .addCommand(grafanaCommand(cli));
}

function rulesCommand(cli: CommandLine): Command {
  return withDatabaseOptions(new Command("prometheus-rules"))
    .description("print the rules that a node with these settings watches, as a rules file of Prometheus")
    .action(async (options: DatabaseOptions) => {
      const config = settingsOf(cli, options);
      const { ruleSetOf } = await import("../../alerts/rule-set.js");
      const { prometheusRules } = await import("../../alerts/exports/prometheus-rules.js");
      cli.stdout.write(prometheusRules(ruleSetOf(config).rules));
    });
}

function grafanaCommand(cli: CommandLine): Command {
  return withDatabaseOptions(new Command("grafana"))
    .description("print a dashboard of all metrics, as Grafana imports it")
    .action(async (options: DatabaseOptions) => {
      const { prefix } = settingsOf(cli, options).metrics;
      const { grafanaDashboard } = await import("../../alerts/exports/grafana-dashboard.js");
      const { metricCatalogue } = await import("../../telemetry/metric-catalogue.js");
      printJson(cli, grafanaDashboard(metricCatalogue(prefix), prefix));
    });
}

function settingsOf(cli: CommandLine, { serviceConfig }: DatabaseOptions): Config {
  return loadConfig({ file: serviceConfig ?? null, env: cli.env, cwd: cli.cwd }).config;
}
