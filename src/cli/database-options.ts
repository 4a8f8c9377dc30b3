import { userInfo } from "node:os";
import { resolve } from "node:path";
import type { Command } from "commander";
import type { Config } from "../config/config.js";
import { loadConfig, type Sources } from "../config/load-config.js";
import { HoldfastError } from "../errors.js";
import type { DatabasePlace, Maintenance } from "../maintenance.js";
import type { CommandLine } from "./command-line.js";
import { tellingOfLog } from "./embedded-log.js";
import { oneLine } from "./paint.js";

/** For commands that go straight to the database, by the settings that a node would have here. */
export interface DatabaseOptions {
  readonly serviceConfig?: string;
}

export function withDatabaseOptions(command: Command): Command {
  return command.option(
    "--service-config <file>",
    "the settings; by default holdfast.toml where it runs; HOLDFAST_STORE_URL and its like go before",
  );
}

/** Says first which database it is, on standard error: standard output is the command's own. */
export async function withMaintenance<Result>(
  cli: CommandLine,
  { serviceConfig }: DatabaseOptions,
  work: (maintenance: Maintenance, place: DatabasePlace) => Promise<Result>,
): Promise<Result> {
  const { config: read, sources } = loadConfig({ file: serviceConfig ?? null, env: cli.env, cwd: cli.cwd });
  const store = { ...read.store, dataDir: resolve(cli.cwd, read.store.dataDir) };
  const config: Config = Object.freeze({ ...read, store: Object.freeze(store) });
  const { hasEmbeddedDatabase, openMaintenance, placeOf } = await import("../maintenance.js");
  if (!isNamed(config, sources) && !hasEmbeddedDatabase(store.dataDir)) throw nothingNamed();
  const place = placeOf(config);
  cli.stderr.write(`holdfast: this is about ${oneLine(place.shown)}\n`);
  return await tellingOfLog(store.dataDir, async () => {
    const maintenance = await openMaintenance(config);
    try {
      return await work(maintenance, place);
    } finally {
      await maintenance.close();
    }
  });
}

/** An embedded server that nobody asked for and nobody has used would be found good, and empty. */
function isNamed({ backend }: Config, sources: Sources): boolean {
  return backend === "postgres" || ["store.backend", "store.data_dir"].some((key) => Object.hasOwn(sources, key));
}

function nothingNamed(): HoldfastError {
  const message =
    "No database is named: set HOLDFAST_STORE_URL=postgres://user@host/database, or store.url in holdfast.toml; " +
    'for the embedded PostgreSQL store.backend = "embedded" (HOLDFAST_STORE_BACKEND).';
  return new HoldfastError("BAD_SETTINGS", message);
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
