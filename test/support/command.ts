import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
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
