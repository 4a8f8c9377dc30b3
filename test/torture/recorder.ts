import { appendFileSync } from "node:fs";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { HistoryEvent } from "./history.js";

/** The orchestrator's own part of the history, kept in memory and on file; the nodes keep theirs in files of their own. */
export class Recorder {
  readonly events: HistoryEvent[] = [];
  private readonly path: string;
  private unwritten = "";

  constructor(folder: string) {
    this.path = join(folder, "orchestrator.jsonl");
  }

  readonly log = (event: HistoryEvent): void => {
    this.events.push(event);
    this.unwritten += `${JSON.stringify(event)}\n`;
    if (this.unwritten.length > 65_536) this.flush();
  };

  flush(): void {
    appendFileSync(this.path, this.unwritten);
    this.unwritten = "";
  }
}

/** Everything that everybody told, in the order of the one clock. */
export async function mergeHistories(own: readonly HistoryEvent[], folder: string): Promise<readonly HistoryEvent[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith(".jsonl"));
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), "utf8")));
  // A line that a kill cut off has no end, and says nothing.
  const told = texts.flatMap((text) => text.split("\n").slice(0, -1)).map((line) => JSON.parse(line) as HistoryEvent);
  const isRun = ({ kind }: HistoryEvent): number => (kind === "run" ? 0 : 1);
  return [...own, ...told].toSorted((one, other) => isRun(one) - isRun(other) || one.at - other.at);
}

export async function writeHistory(path: string, history: readonly HistoryEvent[]): Promise<void> {
  await writeFile(path, history.map((event) => `${JSON.stringify(event)}\n`).join(""));
}
