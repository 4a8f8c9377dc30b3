import { type Logger, pino } from "pino";
import type { Config } from "../config/config.js";
import type { Output } from "./command-line.js";
import { oneLine, type Paint, type Tone } from "./paint.js";

/** The log of a serving node: JSON for machines, lines for people. */
export function createLog(
  { log: { level } }: Config,
  { output, pretty, paint }: { readonly output: Output; readonly pretty: boolean; readonly paint: Paint },
): Logger {
  const write = pretty ? (line: string) => output.write(prettyLine(line, paint)) : (line: string) => output.write(line);
  return pino({ name: "holdfast", level }, { write });
}

const levels: readonly { readonly above: number; readonly word: string; readonly tone: Tone | null }[] = [
  { above: 60, word: "FATAL", tone: "bad" },
  { above: 50, word: "ERROR", tone: "bad" },
  { above: 40, word: "WARN ", tone: "warning" },
  { above: 30, word: "INFO ", tone: "good" },
  { above: 20, word: "DEBUG", tone: "dim" },
  { above: 0, word: "TRACE", tone: "dim" },
];

/** Fields that say nothing to a person who looks at one node. */
const unsaid = new Set(["level", "time", "pid", "hostname", "name", "msg", "err"]);

/** One line of JSON as one line for people. What is no JSON stays as it is. */
export function prettyLine(line: string, paint: Paint): string {
  const fields = parse(line);
  if (fields === null) return line;
  const level = levels.find(({ above }) => numberOf(fields.level) >= above) ?? levels.at(-1);
  const time = paint("dim", clockTime(numberOf(fields.time)));
  const rest = Object.entries(fields)
    .filter(([key]) => !unsaid.has(key))
    .map(([key, value]) => ` ${paint("dim", `${key}=`)}${showField(value)}`)
    .join("");
  const message = typeof fields.msg === "string" ? oneLine(fields.msg) : "";
  return `${time} ${paint(level?.tone ?? null, level?.word ?? "")} ${message}${rest}${errorOf(fields.err)}\n`;
}

function parse(line: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

/** What a child writes may be anything, and not everything can be made a number. */
const numberOf = (value: unknown): number => (typeof value === "number" ? value : Number.NaN);

function clockTime(ms: number): string {
  const at = new Date(Number.isFinite(ms) ? ms : 0);
  const two = (value: number, length = 2): string => String(value).padStart(length, "0");
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}.${two(at.getMilliseconds(), 3)}`;
}

function showField(value: unknown): string {
  const text = oneLine(typeof value === "string" ? value : JSON.stringify(value));
  return /^[^\s"=]+$/.test(text) ? text : JSON.stringify(text);
}

/** The stack of an error, below its line. */
function errorOf(err: unknown): string {
  if (typeof err !== "object" || err === null) return "";
  const { stack, message } = err as { readonly stack?: unknown; readonly message?: unknown };
  const text = [stack, message].find((each) => typeof each === "string") ?? "";
  return text === "" ? "" : `\n${text.replace(/^/gm, "    ")}`;
}
