import type { WrittenDuration } from "../../transport-options.js";
import type { Fields } from "../setting-fields.js";
import { nameProblem } from "./file-name.js";
import type { WatchRules } from "./folder-watch.js";

/** How a folder is polled, as a config module writes it. */
export interface PollingOptions {
  /** "1s" by default; "10s" on a server. */
  readonly every?: WrittenDuration | undefined;
  /** Which files are taken, like "*.hl7"; all but hidden ones by default. */
  readonly pattern?: string | undefined;
  /** By name, or the one first that was changed first; "name" by default. */
  readonly order?: "name" | "age" | undefined;
  /** A file is whole when so many polls in a row found it unchanged; 2 by default, 0 where files appear by a rename. */
  readonly settledPolls?: number | undefined;
  /** A file is whole when a second one is there, named like it with this at its end: ".done". */
  readonly marker?: string | undefined;
  /** What becomes of a file that was taken in; "archive" by default. */
  readonly after?: "archive" | "delete" | undefined;
  /** Where it goes then; "archive" by default, in the folder itself. */
  readonly archive?: string | undefined;
  /** Where a file goes that cannot be taken in; "errors" by default, in the folder itself. */
  readonly errors?: string | undefined;
  /** A larger one cannot be taken in; 16 MiB by default. */
  readonly maxFileBytes?: number | undefined;
  /** "hl7" makes a message of each that is in a file, also of a batch; "none", the default, one of the file. */
  readonly split?: "none" | "hl7" | undefined;
}

export interface PollingSettings extends WatchRules {
  readonly everyMs: number;
  readonly after: "archive" | "delete";
  readonly archive: string;
  readonly errors: string;
  readonly maxFileBytes: number;
  readonly split: "none" | "hl7";
}

export const pollingFields = [
  "every",
  "pattern",
  "order",
  "settledPolls",
  "marker",
  "after",
  "archive",
  "errors",
  "maxFileBytes",
  "split",
] satisfies (keyof PollingOptions)[];

export function readPolling(fields: Fields, every = "1s"): PollingSettings {
  const plainName = /^[^/\0\r\n]+$/;
  const folderName = /^[^\0\r\n]+$/;
  const settings: PollingSettings = {
    everyMs: fields.duration("every", every, 10),
    pattern: fields.matching("pattern", "*", plainName, 'a pattern of file names like "*.hl7", without "/"'),
    order: fields.oneOf("order", ["name", "age"] as const, "name"),
    settledPolls: fields.whole("settledPolls", 2, { min: 0, max: 1_000 }),
    marker: fields.has("marker")
      ? fields.matching("marker", null, plainName, 'the end of a file\'s name like ".done"')
      : null,
    after: fields.oneOf("after", ["archive", "delete"] as const, "archive"),
    archive: fields.matching("archive", "archive", folderName, "the name of a folder"),
    errors: fields.matching("errors", "errors", folderName, "the name of a folder"),
    maxFileBytes: fields.whole("maxFileBytes", 16_777_216, { min: 1, max: 1_073_741_824 }),
    split: fields.oneOf("split", ["none", "hl7"] as const, "none"),
  };
  if (settings.after === "delete" && fields.has("archive"))
    fields.wrong('deletes what it took, so leave "archive" out.');
  return settings;
}

/** How files are put into a folder, as a config module writes it. */
export interface WritingOptions {
  /** The name of each file; "{id}.msg" by default. */
  readonly fileName?: string | undefined;
  /** Whether a file that is there under the same name is replaced. By default a number is put behind the new one's. */
  readonly overwrite?: boolean | undefined;
}

export interface WritingSettings {
  readonly fileName: string;
  readonly overwrite: boolean;
}

export const writingFields = ["fileName", "overwrite"] satisfies (keyof WritingOptions)[];

export function readWriting(fields: Fields): WritingSettings {
  const settings = {
    fileName: fields.text("fileName", "{id}.msg", 'a name like "{type}-{id}.hl7"'),
    overwrite: fields.flag("overwrite", false),
  };
  const problem = settings.fileName === "" ? null : nameProblem(settings.fileName);
  if (problem !== null) fields.bad("fileName", problem);
  return settings;
}

/** Words for a way of writing that there is not: half a message could be read, and a redelivery would double it. */
export function refuseAppending(given: unknown, fields: Fields): void {
  const { append, mode } = (given ?? {}) as { readonly append?: unknown; readonly mode?: unknown };
  if (append !== undefined || mode !== undefined) {
    fields.wrong("cannot append: each message is a file of its own, so that nobody reads half of one.");
  }
}
