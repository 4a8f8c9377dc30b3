import { CommanderError } from "commander";
import { lacksPassword, passwordAdvice, wrongPassword } from "../doctor/password.js";
import { HoldfastError } from "../errors.js";
import { Ended } from "./command-line.js";
import { Misuse } from "./misuse.js";
import { oneLine } from "./paint.js";

/** What a failed command leaves: an exit code, and lines that say what is wrong and what to do. */
export interface Failure {
  readonly exitCode: number;
  readonly lines: readonly string[];
}

const usageExit = 2;
const failedExit = 1;
const indent = "  ";

export function failureOf(error: unknown, verbose: boolean): Failure {
  const failure = judge(error);
  const stack = verbose && failure.lines.length > 0 ? stackOf(error) : [];
  const told = failure.lines.map((line) => (line.startsWith(indent) ? line : `holdfast: ${line}`));
  return { ...failure, lines: [...told, ...stack] };
}

function judge(error: unknown): Failure {
  if (error instanceof Ended) return { exitCode: error.exitCode, lines: [] };
  if (error instanceof CommanderError) return judgeUsage(error);
  if (error instanceof HoldfastError) {
    const { problems } = error.details;
    const isList = Array.isArray(problems) && problems.every((problem) => typeof problem === "string");
    const messages: readonly string[] = isList ? problems : [withWayOut(error)];
    return { exitCode: error.exitCode, lines: messages.flatMap((message) => linesOf(message, error.code)) };
  }
  const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  const hint = "This was not expected; --verbose shows where it came from.";
  return { exitCode: failedExit, lines: [`${oneLine(message)}. ${hint} [INTERNAL]`] };
}

/** One line; where the last two mark a place in what was written, these follow it as they are. */
function linesOf(message: string, code: string): readonly string[] {
  const [, told, written = "", mark = ""] = /^(.*)\n([^\n]*)\n(\s*\^)$/s.exec(message) ?? [];
  if (told === undefined) return [`${oneLine(message)} [${code}]`];
  const shown = oneLine(written);
  // What oneLine has changed is as wide no more, and a mark would point elsewhere.
  return shown === written
    ? [`${oneLine(told)} [${code}]`, indent + shown, indent + mark]
    : [`${oneLine(told)} [${code}]`];
}

/** The database says only that it refused; what to correct is a setting of ours. */
function withWayOut({ message, cause }: HoldfastError): string {
  for (let at: unknown = cause; at instanceof Error; at = at.cause) {
    if (lacksPassword(at.message)) return `The database asks for a password, and there is none. ${passwordAdvice}`;
    if ("code" in at && at.code === wrongPassword) return `${message} ${passwordAdvice}`;
  }
  return message;
}

/** Help and version are errors to commander too; it has printed them by then. */
function judgeUsage(error: CommanderError): Failure {
  if (error.exitCode === 0) return { exitCode: 0, lines: [] };
  if (error.code === "commander.help") return { exitCode: usageExit, lines: [] };
  const message = oneLine(error.message.replace(/^error: /, "").replaceAll("'", '"'));
  const sentence = /[.?)]$/.test(message) ? message : `${message}.`;
  const hinted = sentence.replace(/ \(Did you mean (.*)\?\)$/, ". Did you mean $1?");
  const isGuessed = hinted.endsWith("?");
  const wayOut = error instanceof Misuse && !isGuessed ? ` ${error.wayOut}` : "";
  return { exitCode: usageExit, lines: [`${hinted}${wayOut} [USAGE]`] };
}

function stackOf(error: unknown): readonly string[] {
  const lines: string[] = [];
  for (let at: unknown = error; at instanceof Error && lines.length < 200; at = at.cause) {
    lines.push(...(lines.length > 0 ? ["caused by:"] : []), ...(at.stack ?? at.message).split("\n"));
  }
  return lines;
}
