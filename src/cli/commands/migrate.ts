import { Command } from "commander";
import type { GrantKind, GrantReport, Maintenance, MigrationReport } from "../../maintenance.js";
import type { CommandLine } from "../command-line.js";
import { type DatabaseOptions, withDatabaseOptions, withMaintenance } from "../database-options.js";
import { printJson, printLines } from "../print.js";

interface MigrateOptions extends DatabaseOptions {
  readonly dryRun?: boolean;
  readonly grant?: readonly string[];
  readonly grantReader?: readonly string[];
  readonly json?: boolean;
}

const collect = (name: string, before: readonly string[] = []): readonly string[] => [...before, name];

export function migrateCommand(cli: CommandLine): Command {
  return withDatabaseOptions(new Command("migrate"))
    .description("bring the schema up to this version, straight in the database")
    .option("--dry-run", "only say what would be done")
    .option("--grant <role>", "then give this database role what a node needs, and no more (repeatable)", collect)
    .option(
      "--grant-reader <role>",
      "then let this database role read who leads and what happened (repeatable)",
      collect,
    )
    .option("--json", "print the report as JSON")
    .action(async (options: MigrateOptions) => {
      const dryRun = options.dryRun === true;
      await withMaintenance(cli, options, async (maintenance) => {
        const report = await maintenance.migrate({ dryRun });
        const grants = dryRun ? [] : await grantAll(maintenance, options);
        if (options.json === true) printJson(cli, { ...report, dry_run: dryRun, grants });
        else printLines(cli, [...migrationLines(report, dryRun), ...grants.flatMap(grantLines)]);
      });
    });
}

async function grantAll(maintenance: Maintenance, options: MigrateOptions): Promise<readonly GrantReport[]> {
  const wishes: readonly (readonly [string, GrantKind])[] = [
    ...(options.grant ?? []).map((role) => [role, "node"] as const),
    ...(options.grantReader ?? []).map((role) => [role, "reader"] as const),
  ];
  const reports: GrantReport[] = [];
  for (const [role, kind] of wishes) reports.push(await maintenance.grant(role, kind));
  return reports;
}

function migrationLines({ from, to, applied }: MigrationReport, dryRun: boolean): readonly string[] {
  if (applied.length === 0) return [`The schema is at version ${from}: nothing to do.`];
  const done = dryRun ? "would be applied" : "applied";
  return [
    ...applied.map((name) => `${done}: ${name}`),
    dryRun ? `The schema is at version ${from}, and would be at ${to}.` : `The schema is at version ${to}.`,
  ];
}

function grantLines({ role, kind, advice }: GrantReport): readonly string[] {
  const what = kind === "node" ? "do what a node does" : "read who leads and what happened";
  return [`${role} may ${what}.`, ...advice.map((statement) => `  an administrator has to add: ${statement}`)];
}
