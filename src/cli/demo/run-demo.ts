import { access, constants, mkdir, rm, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { type DemoDatabase, startDemoDatabase } from "../../demo-database.js";
import { HoldfastError } from "../../errors.js";
import type { CommandLine } from "../command-line.js";
import { tellingOfLog } from "../embedded-log.js";
import { DemoCluster, type NodePlan } from "./demo-cluster.js";
import { DemoEnding } from "./demo-ending.js";
import { chooseLifeline } from "./lifeline.js";
import { type DatabasePlace, nodeEnvironment, urlOf } from "./node-environment.js";
import { claimPorts } from "./ports.js";
import { showDemo, tellDemo } from "./show-demo.js";
import { type Spelling, spellingOf } from "./spelling.js";

export interface DemoOptions {
  readonly nodes: number;
  readonly port: number;
  /** Absolute. */
  readonly dataDir: string;
  readonly fresh: boolean;
  /** A server of the user's own; null for the embedded one. */
  readonly database: string | null;
}

/** Where whoever wants to try something on the demo's database finds its address, while the demo runs. */
const addressFile = "database.url";

/** Runs a cluster on this machine until somebody has seen enough, and leaves no process behind. */
export async function runDemo(cli: CommandLine, options: DemoOptions): Promise<void> {
  const ports = await claimPorts(options.port, options.nodes, spellingOf(cli.env));
  await makeDirectory(options.dataDir, spellingOf(cli.env));
  using ending = new DemoEnding(cli);
  await tellingOfLog(options.dataDir, () => runUntil(cli, options, { ports, ending }));
}

async function runUntil(
  cli: CommandLine,
  options: DemoOptions,
  { ports, ending }: { readonly ports: readonly number[]; readonly ending: DemoEnding },
): Promise<void> {
  const database = await openDatabase(cli, options);
  const address = join(options.dataDir, addressFile);
  try {
    // A file, for the address holds a password: a terminal may be watched, and every user can read a command line.
    await writeFile(address, `${database.url}\n`, { mode: 0o600 });
    void database.failed.then((error) => ending.fail(error));
    const place = { url: database.url, embedded: options.database === null };
    await runNodes(cli, await plan(cli, options, ports, place), { ending, dataDir: options.dataDir });
  } finally {
    await rm(address, { force: true });
    await database.stop();
  }
  ending.rethrow();
}

async function openDatabase(cli: CommandLine, { dataDir, fresh, database }: DemoOptions): Promise<DemoDatabase> {
  if (database !== null) {
    return { url: database, failed: new Promise(() => undefined), stop: () => Promise.resolve() };
  }
  progress(cli, `starting PostgreSQL in ${shown(cli, dataDir)}`);
  return await startDemoDatabase({ dataDir, fresh });
}

async function plan(
  cli: CommandLine,
  { dataDir }: DemoOptions,
  ports: readonly number[],
  database: DatabasePlace,
): Promise<readonly NodePlan[]> {
  const lifeline = await chooseLifeline();
  return await Promise.all(
    ports.map(async (port, index): Promise<NodePlan> => {
      const place = { id: `node-${index + 1}`, port };
      const logPath = join(dataDir, `${place.id}.log`);
      await rm(logPath, { force: true });
      return {
        id: place.id,
        url: urlOf(place),
        env: nodeEnvironment(cli.env, place, database),
        cwd: dataDir,
        logPath,
        lifeline,
      };
    }),
  );
}

/** The database and the nodes would each say it in their own way, and later. */
async function makeDirectory(path: string, spelled: Spelling): Promise<void> {
  try {
    await mkdir(path, { recursive: true, mode: 0o700 });
    await access(path, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const message = `The demo cannot keep its files in ${path} (${code}): name another directory with ${spelled("--data-dir")}.`;
    throw new HoldfastError("USAGE", message, { cause });
  }
}

async function runNodes(
  cli: CommandLine,
  plans: readonly NodePlan[],
  { ending, dataDir }: { readonly ending: DemoEnding; readonly dataDir: string },
): Promise<void> {
  if (ending.signal.aborted) return;
  const logs = shown(cli, dataDir);
  progress(cli, `starting ${counted(plans.length)}; they log to ${logs}`);
  const cluster = new DemoCluster(plans);
  try {
    await cluster.start(ending.signal);
    if (ending.signal.aborted) return;
    cli.stdout.write(
      `ready: ${plans[0]?.url} is the dashboard (${counted(plans.length)}, ${cluster.leaderId} leads)\n`,
    );
    const onScreen = cli.stdin.isTTY && cli.stdout.isTTY;
    await (onScreen ? showDemo(cli, cluster, { ending, logs }) : tellDemo(cli, cluster, ending.signal));
  } finally {
    progress(cli, "stopping");
    ending.onHurry(() => cluster.killAll());
    await cluster.close();
  }
}

function counted(nodes: number): string {
  return nodes === 1 ? "1 node" : `${nodes} nodes`;
}

function progress(cli: CommandLine, what: string): void {
  cli.stderr.write(`holdfast demo: ${what}\n`);
}

/** Short where it is below the directory that the user is in. */
function shown(cli: CommandLine, path: string): string {
  const inside = relative(cli.cwd, path);
  return inside === "" || inside.startsWith("..") ? path : inside;
}
