import { setTimeout as sleep } from "node:timers/promises";
import { HoldfastError } from "../../errors.js";
import { fixedArguments } from "./configuration.js";
import { failureWithLog } from "./failure.js";
import { type Exit, type Launched, type LaunchOptions, launch } from "./launch.js";
import type { LogFile } from "./log-file.js";
import { readPidFile } from "./pid-file.js";
import { isPortTaken, loopback, pickFreePort } from "./port.js";
import { shutDown } from "./shutdown.js";
import { waitUntil } from "./wait-until.js";

/** The server's main process, which accepts connections. */
export interface Postmaster extends Launched {
  readonly pid: number;
  readonly port: number;
}

export interface PostmasterOptions {
  readonly program: string;
  readonly pgdata: string;
  /** Undefined or 0: a free one. */
  readonly port: number | undefined;
  readonly launchOptions: LaunchOptions;
  readonly log: LogFile;
  readonly timeoutMs: number;
}

type StartOutcome =
  | { readonly kind: "ready"; readonly launched: Launched; readonly pid: number }
  | { readonly kind: "exited"; readonly exit: Exit }
  | { readonly kind: "silent" };

const portAttempts = 5;
const pauseBesideSurvivorsMs = 20;

/** Tries again where a start can fail for no lasting reason; any other failure carries the end of the log. */
export async function startPostmaster(options: PostmasterOptions): Promise<Postmaster> {
  const { pgdata, log, timeoutMs } = options;
  const deadline = performance.now() + timeoutMs;
  for (let attempt = 1; ; attempt++) {
    const port = options.port || (await pickFreePort());
    const outcome = await startOnce(options, port);
    if (outcome.kind === "ready") return { ...outcome.launched, pid: outcome.pid, port };
    if (outcome.kind === "silent")
      throw failureWithLog(`The embedded PostgreSQL on ${pgdata} was not ready after ${timeoutMs} ms`, undefined, log);
    if (await isPortTaken(port)) {
      if (!options.port && attempt < portAttempts) continue;
      throw portTaken(port);
    }
    if (survivorsRemain(log) && performance.now() < deadline) {
      await sleep(pauseBesideSurvivorsMs);
      continue;
    }
    throw failureWithLog(`The embedded PostgreSQL did not start on ${pgdata}`, outcome.exit, log);
  }
}

async function startOnce(options: PostmasterOptions, port: number): Promise<StartOutcome> {
  const { program, pgdata } = options;
  options.log.mark();
  const launched = launch([program, "-D", pgdata, ...fixedArguments(port)], options.launchOptions);
  const { pid } = launched.child;
  let exit: Exit | undefined;
  void launched.exited.then((ended) => {
    exit = ended;
  });
  const settled = await waitUntil(() => exit !== undefined || acceptsConnections(pgdata, pid), options.timeoutMs);
  if (!settled) {
    await shutDown(launched, "immediate");
    return { kind: "silent" };
  }
  if (exit !== undefined || pid === undefined) return { kind: "exited", exit: await launched.exited };
  launched.child.unref();
  return { kind: "ready", launched, pid };
}

function acceptsConnections(pgdata: string, pid: number | undefined): boolean {
  const file = readPidFile(pgdata);
  return file !== undefined && file.pid === pid && (file.status === "ready" || file.status === "standby");
}

/** Sessions outlive a killed server by a moment, and PostgreSQL does not start beside them. Nothing but its log tells this. */
function survivorsRemain(log: LogFile): boolean {
  return log.recent().includes("pre-existing shared memory block");
}

function portTaken(port: number): HoldfastError {
  return new HoldfastError(
    "EMBEDDED_FAILED",
    `Port ${port} on ${loopback} is taken by another program: name another one, or none to get a free one.`,
    { details: { port } },
  );
}
