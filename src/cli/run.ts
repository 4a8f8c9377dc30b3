import type { CommandLine } from "./command-line.js";
import { failureOf } from "./failure.js";
import { createProgram } from "./program.js";

/** Runs one command, and answers with the exit code: 0 done, 1 failed, 2 usage or settings, 3 not leader, 4 nobody answers. */
export async function run(args: readonly string[], cli: CommandLine): Promise<number> {
  try {
    await createProgram(cli).parseAsync(args, { from: "user" });
    return 0;
  } catch (error) {
    const { exitCode, lines } = failureOf(error, args.includes("--verbose"));
    for (const line of lines) cli.stderr.write(`${line}\n`);
    return exitCode;
  }
}
