import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { run } from "../../src/cli/run.js";
import { FakeCommandLine } from "./fake-command-line.js";
import { programPath, serveEnvironment } from "./serve-process.js";

export interface CommandResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CommandOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/** The same command in this process: sooner, and as good where the process itself is not the point. */
export async function runHere(
  args: readonly string[],
  { env = {}, cwd = "/nowhere" }: CommandOptions = {},
): Promise<CommandResult> {
  const cli = new FakeCommandLine({ env, cwd });
  const code = await run(args, cli);
  return { code, stdout: cli.written, stderr: cli.complained };
}

/** Runs `holdfast` as it ships, without a terminal, and waits for its end. */
export async function runCommand(
  args: readonly string[],
  { env = {}, cwd }: CommandOptions = {},
): Promise<CommandResult> {
  const child = spawn(process.execPath, [programPath, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    env: serveEnvironment({}, env),
    ...(cwd === undefined ? {} : { cwd }),
  });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", resolve);
  });
  const [code, stdout, stderr] = await Promise.all([ended, text(child.stdout), text(child.stderr)]);
  return { code, stdout, stderr };
}
