import type { Readable } from "node:stream";
import type { Logger } from "pino";
import type { ChildName } from "./core/messages.js";

/** A line that never ends is passed on in pieces of this size. */
const longestLine = 65_536;

/** Calls back with each line, without its end; the last one also where it has none. */
export function onLines(stream: Readable, take: (line: string) => void): void {
  let rest = "";
  stream.setEncoding("utf8");
  // Output that breaks belongs to a child that ends, and its end is told.
  stream.on("error", () => undefined);
  stream.on("data", (text: string) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) take(line);
    while (rest.length > longestLine) {
      take(rest.slice(0, longestLine));
      rest = rest.slice(longestLine);
    }
  });
  stream.once("end", () => {
    if (rest !== "") take(rest);
  });
}

/** The line of a JSON log with the field `child` added; null for what is no such line. */
export function labelled(line: string, child: ChildName): string | null {
  const text = line.trimEnd();
  if (!isLogLine(text)) return null;
  // Added to the text and not to what was read from it: numbers beyond a double stay as they are.
  return `${text.slice(0, -1)},"child":"${child}"}\n`;
}

function isLogLine(text: string): boolean {
  if (!text.startsWith("{") || !text.endsWith("}")) return false;
  try {
    return "level" in (JSON.parse(text) as object);
  } catch {
    return false;
  }
}

/** Passes on what a child writes. What is no line of a log becomes one, so that all of it can be read by a machine. */
export function relay(
  streams: { readonly stdout: Readable; readonly stderr: Readable },
  child: ChildName,
  to: { readonly log: Logger; readonly write: (line: string) => void },
): void {
  const pass = (line: string, otherwise: (text: string) => void): void => {
    if (line.trim() === "") return;
    const labelledLine = labelled(line, child);
    if (labelledLine === null) otherwise(line);
    else to.write(labelledLine);
  };
  onLines(streams.stdout, (line) => pass(line, (text) => to.log.info({ child }, text)));
  onLines(streams.stderr, (line) => pass(line, (text) => to.log.error({ child }, text)));
}
