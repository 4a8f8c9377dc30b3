import { SourceMap, type SourceMapPayload } from "node:module";

const inlineMap = /\n\/\/# sourceMappingURL=data:application\/json;base64,([A-Za-z0-9+/=]+)\s*$/;

/** Where in the modules of a folder an error came from, for those whose stack leads into the folder's bundle. */
export class SourcePlaces {
  /** The bundle's name in a stack. */
  readonly #bundle: string;
  readonly #root: string;
  readonly #text: string;
  #map: SourceMap | null = null;

  constructor({ bundle, root, text }: { readonly bundle: string; readonly root: string; readonly text: string }) {
    this.#bundle = bundle;
    this.#root = root;
    this.#text = text;
  }

  /** "adt.ts:12:5", from the innermost call within the folder; null where there is none. */
  of(error: unknown): string | null {
    const stack = stackOf(error);
    const inBundle = numbersAfter(stack, this.#bundle);
    if (inBundle !== null) return this.#original(inBundle);
    // With --enable-source-maps the stack names the modules by itself.
    const inFolder = new RegExp(`${escaped(`${this.#root}/`)}([^\\s:()]+:\\d+:\\d+)`).exec(stack);
    return inFolder?.[1] ?? null;
  }

  /** Whether nobody but the folder's modules, and Node itself, was in the call that failed. */
  areAllOf(error: unknown): boolean {
    const calls = stackOf(error)
      .split("\n")
      .filter((line) => /^ +at /.test(line));
    const isOurs = (call: string): boolean => call.includes(this.#bundle) || call.includes(`${this.#root}/`);
    return calls.some(isOurs) && calls.every((call) => isOurs(call) || /\(?node:/.test(call));
  }

  #original({ line, column }: Position): string | null {
    this.#map ??= mapOf(this.#text);
    const entry = this.#map?.findEntry(line - 1, column - 1);
    if (entry === undefined || !("originalSource" in entry)) return null;
    return `${decodeURI(entry.originalSource)}:${entry.originalLine + 1}:${entry.originalColumn + 1}`;
  }
}

interface Position {
  readonly line: number;
  readonly column: number;
}

function stackOf(error: unknown): string {
  try {
    return error instanceof Error ? String(error.stack) : "";
  } catch {
    return "";
  }
}

function numbersAfter(stack: string, name: string): Position | null {
  const called = new RegExp(`${escaped(name)}:(\\d+):(\\d+)`).exec(stack);
  if (called !== null) return { line: Number(called[1]), column: Number(called[2]) };
  // What cannot be compiled is shown by its line, with a mark below the place.
  const shown = new RegExp(`^${escaped(name)}:(\\d+)\\n.*\\n( *)\\^`).exec(stack);
  return shown === null ? null : { line: Number(shown[1]), column: (shown[2] ?? "").length + 1 };
}

function mapOf(text: string): SourceMap | null {
  const encoded = inlineMap.exec(text)?.[1];
  if (encoded === undefined) return null;
  return new SourceMap(JSON.parse(Buffer.from(encoded, "base64").toString("utf8")) as SourceMapPayload);
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
