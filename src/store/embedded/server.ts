import { existsSync } from "node:fs";
import type { HoldfastError } from "../../errors.js";
import { type Binaries, findBinaries } from "./binaries.js";
import { type Settings, writeConfiguration } from "./configuration.js";
import { checkMajor, type DataDirectory, ensurePassword, openDataDirectory } from "./data-directory.js";
import { failureWithLog } from "./failure.js";
import { initialize, superuser } from "./initialize.js";
import type { LaunchOptions } from "./launch.js";
import { endLeftBehindServer } from "./left-behind.js";
import { chooseLifeline } from "./lifeline.js";
import { type LogFile, openLogFile } from "./log-file.js";
import { takeOwnership } from "./owner.js";
import { loopback } from "./port.js";
import { type Postmaster, startPostmaster } from "./postmaster.js";
import { chooseRunAs, grantAccess } from "./run-as.js";
import { type StopMode, shutDown } from "./shutdown.js";

export interface EmbeddedOptions {
  /** Made if it does not exist. All that the server keeps is below it, its password and its log too. */
  readonly dataDir: string;
  /** Left out or 0: a free one, another at every start. */
  readonly port?: number;
  /** PostgreSQL's own settings. They replace the embedded server's defaults. */
  readonly settings?: Settings;
  /** How long initdb may take, and how long the server may take to answer. Recovery after a crash counts into the latter. */
  readonly startTimeoutMs?: number;
  /** Left out: those that npm installed with this package. */
  readonly binaries?: Binaries;
}

/** How the server's process ended. */
export type ServerExit = { readonly kind: "stopped" } | { readonly kind: "failed"; readonly error: HoldfastError };

/**
 * A PostgreSQL server that runs as a child of this process, reachable from this machine only, and that ends with this process
 * however that ends. It does not keep the process alive. It is a single server: what it stores is as safe as this machine's
 * disk, and no node on another machine can use it.
 */
export interface EmbeddedServer extends AsyncDisposable {
  /** With the password. */
  readonly url: string;
  readonly port: number;
  readonly dataDir: string;
  readonly pid: number;
  /** Resolves when the server's process is gone, asked for or not. Never rejects. */
  readonly exited: Promise<ServerExit>;
  /**
   * "smart" lets sessions finish, "fast" (the default) ends them, "immediate" leaves the rest to recovery at the next start.
   * Each gives way to the next harsher one when it takes too long, so this always ends. Harmless when repeated.
   */
  stop(mode?: StopMode): Promise<void>;
}

const defaultStartTimeoutMs = 60_000;

/** Starts a server on the directory, made first if it is not there. Resolves when the server accepts connections. */
export async function startEmbedded(options: EmbeddedOptions): Promise<EmbeddedServer> {
  const { binaries = findBinaries() } = options;
  const directory = await openDataDirectory(options.dataDir);
  const ownership = takeOwnership(directory);
  let log: LogFile | undefined;
  const letGo = () => {
    log?.close();
    ownership.release();
  };
  try {
    log = await openLogFile(directory.log);
    const password = await ensurePassword(directory);
    const postmaster = await startOwned(options, binaries, directory, log);
    return describeServer(postmaster, { directory, password, log, letGo });
  } catch (error) {
    letGo();
    throw error;
  }
}

async function startOwned(
  options: EmbeddedOptions,
  binaries: Binaries,
  directory: DataDirectory,
  log: LogFile,
): Promise<Postmaster> {
  const { port, settings = {}, startTimeoutMs: timeoutMs = defaultStartTimeoutMs } = options;
  const { pgdata } = directory;
  const stalePid = await endLeftBehindServer(pgdata);
  const runAs = await chooseRunAs(directory);
  await grantAccess(runAs, directory, binaries.postgres);
  const launchOptions: LaunchOptions = {
    runAs,
    lifeline: await chooseLifeline(),
    cwd: directory.root,
    logFd: log.fd,
    // PostgreSQL takes its pid file for a living server's when any process has that pid. This variable, by which pg_ctl names
    // its own shell, exempts one pid from that, and leaves the check for surviving sessions in place.
    ...(stalePid !== undefined && { env: { PG_GRANDPARENT_PID: String(stalePid) } }),
  };
  if (!existsSync(pgdata)) {
    await initialize({ binaries, directory, launchOptions, log, durable: settings.fsync !== "off", timeoutMs });
  }
  await checkMajor(directory, binaries.major);
  await writeConfiguration(pgdata, settings);
  return await startPostmaster({ program: binaries.postgres, pgdata, port, launchOptions, log, timeoutMs });
}

interface ServerParts {
  readonly directory: DataDirectory;
  readonly password: string;
  readonly log: LogFile;
  readonly letGo: () => void;
}

function describeServer(postmaster: Postmaster, { directory, password, log, letGo }: ServerParts): EmbeddedServer {
  let asked = false;
  const exited = postmaster.exited.then((exit): ServerExit => {
    const outcome: ServerExit = asked
      ? { kind: "stopped" }
      : {
          kind: "failed",
          error: failureWithLog(`The embedded PostgreSQL on ${directory.root} ended by itself`, exit, log),
        };
    letGo();
    return outcome;
  });
  const stop = async (mode: StopMode = "fast") => {
    asked = true;
    await shutDown(postmaster, mode);
    // The directory is free for the next start only after this.
    await exited;
  };
  return {
    url: `postgres://${superuser}:${password}@${loopback}:${postmaster.port}/postgres`,
    port: postmaster.port,
    dataDir: directory.root,
    pid: postmaster.pid,
    exited,
    stop,
    [Symbol.asyncDispose]: () => stop(),
  };
}
