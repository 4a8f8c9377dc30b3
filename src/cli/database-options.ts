import { userInfo } from "node:os";
import type { Command } from "commander";
import { loadConfig } from "../config/load-config.js";
import type { Maintenance } from "../maintenance.js";
import type { CommandLine } from "./command-line.js";

/** For commands that go straight to the database, by the settings that a node would have here. */
export interface DatabaseOptions {
  readonly serviceConfig?: string;
}

export function withDatabaseOptions(command: Command): Command {
  return command.option("--service-config <file>", "the settings; by default holdfast.toml where it runs");
}

export async function withMaintenance<Result>(
  cli: CommandLine,
  { serviceConfig }: DatabaseOptions,
  work: (maintenance: Maintenance) => Promise<Result>,
): Promise<Result> {
  const { config } = loadConfig({ file: serviceConfig ?? null, env: cli.env, cwd: cli.cwd });
  const { openMaintenance } = await import("../maintenance.js");
  const maintenance = await openMaintenance(config);
  try {
    return await work(maintenance);
  } finally {
    await maintenance.close();
  }
}

/** Who did it, as the audit will say: there is no token, but there is a user of this machine. */
export function localActor(): string {
  try {
    return `${userInfo().username} at the command line`;
  } catch {
    // A container may run as a user that nobody has named.
    return "somebody at the command line";
  }
}
