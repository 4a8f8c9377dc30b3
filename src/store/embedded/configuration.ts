import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { HoldfastError } from "../../errors.js";
import { loopback } from "./port.js";

/** Settings by PostgreSQL's names, with values as they would stand in postgresql.conf, unquoted. */
export type Settings = Readonly<Record<string, string>>;

/** Durable as PostgreSQL is by itself; what differs saves processes and noise on a machine that it shares with its owner. */
const defaults: Settings = {
  max_connections: "100",
  shared_buffers: "128MB",
  jit: "off",
  timezone: "UTC",
  log_timezone: "UTC",
  lc_messages: "C",
  log_checkpoints: "off",
  log_line_prefix: "%m [%p] ",
  // After a crash all files are synced before recovery: one by one that took 3.6 s on a slow disk, at once 0.2 s.
  ...(process.platform === "linux" && { recovery_init_sync_method: "syncfs" }),
};

/** Since 18: reads of its own processes save nothing here. */
const since18: Settings = { io_method: "sync" };

const reserved: ReadonlySet<string> = new Set([
  "port",
  "listen_addresses",
  "unix_socket_directories",
  "data_directory",
  "logging_collector",
]);

/**
 * Writes postgresql.conf anew at every start. Settings go into this file and not on the command line, which every user of the
 * machine can read.
 */
export async function writeConfiguration(pgdata: string, settings: Settings): Promise<void> {
  const major = Number(await readFile(join(pgdata, "PG_VERSION"), "utf8"));
  const lines = Object.entries({ ...defaults, ...(major >= 18 && since18), ...settings }).map(
    ([name, value]) => `${checkedName(name)} = ${quote(value)}`,
  );
  const text = ["# Written at every start of the embedded server; edits are lost.", ...lines, ""].join("\n");
  await writeFile(join(pgdata, "postgresql.conf"), text, { mode: 0o600 });
}

/** What nobody may change, not by ALTER SYSTEM either. Only this machine can reach the server. */
export function fixedArguments(port: number): readonly string[] {
  return [
    "-c",
    `listen_addresses=${loopback}`,
    "-c",
    `port=${port}`,
    "-c",
    "unix_socket_directories=",
    "-c",
    "logging_collector=off",
  ];
}

function checkedName(name: string): string {
  if (!/^[a-z_][a-z0-9_.]*$/i.test(name)) {
    throw new HoldfastError("BAD_SETTINGS", `"${name}" is not the name of a PostgreSQL setting.`);
  }
  if (reserved.has(name.toLowerCase())) {
    throw new HoldfastError("BAD_SETTINGS", `The embedded PostgreSQL sets ${name} itself.`);
  }
  return name;
}

function quote(value: string): string {
  return `'${value.replaceAll("\\", "\\\\").replaceAll("'", "''").replaceAll("\n", "\\n")}'`;
}
