import type { CommandLine } from "./command-line.js";
import { type Paint, paintFor } from "./paint.js";

/** The answer as the node gave it, for other programs. */
export function printJson(cli: CommandLine, answer: unknown): void {
  cli.stdout.write(`${JSON.stringify(answer, null, 2)}\n`);
}

export function printLines(cli: CommandLine, lines: readonly string[]): void {
  cli.stdout.write(lines.map((line) => `${line}\n`).join(""));
}

/** How tables look on this output: cut to a terminal, whole for another program. */
export function lookOf(cli: CommandLine): {
  readonly paint: Paint;
  readonly width: number | undefined;
  readonly now: number;
} {
  const { stdout, env } = cli;
  return { paint: paintFor(stdout, env), width: stdout.isTTY ? stdout.columns : undefined, now: Date.now() / 1000 };
}

/** Names beside values, the values under each other. */
export function pairs(rows: readonly (readonly [string, string])[], paint: Paint): readonly string[] {
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, value]) => `${paint("dim", name.padEnd(width))}  ${value}`);
}
