import { randomUUID } from "node:crypto";
import { open, readdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Binaries } from "./binaries.js";
import type { DataDirectory } from "./data-directory.js";
import { failureWithLog } from "./failure.js";
import { type LaunchOptions, launch } from "./launch.js";
import type { LogFile } from "./log-file.js";

export const superuser = "postgres";

const draftPrefix = "data.new-";

export interface InitializeOptions {
  readonly binaries: Binaries;
  readonly directory: DataDirectory;
  readonly launchOptions: LaunchOptions;
  readonly log: LogFile;
  readonly durable: boolean;
  readonly timeoutMs: number;
}

/**
 * Makes PostgreSQL's directory under another name and renames it when it is complete and on disk, so that an initdb that is
 * killed halfway leaves nothing that looks like a database.
 */
export async function initialize(options: InitializeOptions): Promise<void> {
  const { directory } = options;
  await removeDrafts(directory);
  const draft = join(directory.root, `${draftPrefix}${randomUUID()}`);
  try {
    await runInitdb(options, draft);
    await rename(draft, directory.pgdata);
    if (options.durable) await syncDirectory(dirname(directory.pgdata));
  } catch (error) {
    await rm(draft, { recursive: true, force: true, maxRetries: 5 });
    throw error;
  }
}

async function runInitdb(
  { binaries, directory, launchOptions, log, durable, timeoutMs }: InitializeOptions,
  draft: string,
): Promise<void> {
  const command = [
    binaries.initdb,
    `--pgdata=${draft}`,
    `--username=${superuser}`,
    `--pwfile=${directory.password}`,
    "--auth=scram-sha-256",
    "--encoding=UTF8",
    ...localeArguments(binaries.major),
    "--no-instructions",
    ...syncArguments(binaries.major, durable),
  ];
  const { child, exited } = launch(command, launchOptions);
  const deadline = setTimeout(() => child.kill("SIGKILL"), timeoutMs);
  const exit = await exited;
  clearTimeout(deadline);
  if (exit.code !== 0) throw failureWithLog(`initdb failed on ${directory.root}`, exit, log);
}

/** Sorts by code point on every platform. Since 17 that needs no locale of the host. */
function localeArguments(major: number): readonly string[] {
  if (major < 17) return ["--locale=C", "--lc-ctype=C.UTF-8"];
  return ["--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"];
}

function syncArguments(major: number, durable: boolean): readonly string[] {
  if (!durable) return ["--no-sync"];
  // A thousand files one by one took 4 s on a slow disk, the whole file system at once less than 1 s.
  return process.platform === "linux" && major >= 17 ? ["--sync-method=syncfs"] : [];
}

async function removeDrafts(directory: DataDirectory): Promise<void> {
  for (const name of await readdir(directory.root)) {
    if (name.startsWith(draftPrefix))
      await rm(join(directory.root, name), { recursive: true, force: true, maxRetries: 5 });
  }
}

async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
