import { resolve } from "node:path";
import { Command, InvalidArgumentError } from "commander";
import { parseDatabaseUrl } from "../../config/database-url.js";
import { HoldfastError } from "../../errors.js";
import type { CommandLine } from "../command-line.js";
import { runDemo } from "../demo/run-demo.js";

interface DemoCommandOptions {
  readonly nodes: number;
  readonly port: number;
  readonly dataDir?: string;
  readonly fresh?: boolean;
  readonly database?: string;
}

const mostNodes = 9;
const usualPort = 7400;

export function demoCommand(cli: CommandLine): Command {
  return new Command("demo")
    .description("run a cluster on this machine: kill its leader, freeze it, and watch who takes over")
    .option("--nodes <count>", `how many node processes, 1 to ${mostNodes}`, asNodes, 3)
    .option("--port <port>", "of the first node; each other has the next one", asPort, usualPort)
    .option("--data-dir <dir>", "where the database and the logs are kept; by default .holdfast/demo/<port>")
    .option("--fresh", "begin with an empty database instead of the one from the last time")
    .option("--database <url>", "a PostgreSQL server of your own instead of the embedded one")
    .action(async ({ nodes, port, dataDir, fresh = false, database }: DemoCommandOptions) => {
      if (database !== undefined) checkDatabase(database, fresh);
      await runDemo(cli, {
        nodes,
        port,
        // A directory for each port: demos on other ports run beside this one.
        dataDir: resolve(cli.cwd, dataDir ?? `.holdfast/demo/${port}`),
        fresh,
        database: database ?? null,
      });
    });
}

function checkDatabase(url: string, fresh: boolean): void {
  if (parseDatabaseUrl(url) === null) {
    throw new HoldfastError("USAGE", "--database must be an address like postgres://user:password@host/database.");
  }
  if (fresh) {
    throw new HoldfastError(
      "USAGE",
      "--fresh throws only the embedded database away: drop the schema holdfast_demo of your own by hand.",
    );
  }
}

function asNodes(text: string): number {
  return asNumber(text, mostNodes);
}

function asPort(text: string): number {
  return asNumber(text, 65_535);
}

function asNumber(text: string, most: number): number {
  const number = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (number < 1 || number > most) throw new InvalidArgumentError(`It must be a whole number from 1 to ${most}.`);
  return number;
}
