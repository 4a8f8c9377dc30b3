import { setImmediate as turn } from "node:timers/promises";
import type { Json } from "../jobs/core/job.js";

type Row = Readonly<Record<string, Json>>;

/** What a text is that should be a JSON array of objects. */
export type JsonRows =
  | { readonly kind: "rows"; readonly rows: readonly Row[] }
  | { readonly kind: "bad"; readonly problem: string };

const noJson: JsonRows = { kind: "bad", problem: "it is no JSON" };
const noTable: JsonRows = { kind: "bad", problem: "it must be a JSON array of objects" };
const rowsAtOnce = 1_000;

/** Reads one row after another, with a turn of the event loop now and then: all of a long text at once would cost a lease. */
export async function readJsonRows(bytes: Buffer): Promise<JsonRows> {
  const start = afterBlanks(bytes, isBom(bytes) ? 3 : 0);
  if (bytes[start] !== open) return isJson(bytes.subarray(start)) ? noTable : noJson;
  const rows: Row[] = [];
  let at = afterBlanks(bytes, start + 1);
  if (bytes[at] === close) return isBlank(bytes, at + 1) ? { kind: "rows", rows } : noJson;
  for (;;) {
    const end = elementEnd(bytes, at);
    const value = parsed(bytes.toString("utf8", at, end));
    if (value === undefined) return noJson;
    if (typeof value !== "object" || value === null || Array.isArray(value)) return noTable;
    rows.push(value as Row);
    at = afterBlanks(bytes, end);
    if (bytes[at] === close) return isBlank(bytes, at + 1) ? { kind: "rows", rows } : noJson;
    if (bytes[at] !== comma) return noJson;
    at = afterBlanks(bytes, at + 1);
    if (rows.length % rowsAtOnce === 0) await turn();
  }
}

const [quote, backslash, comma, open, close, brace, braceEnd] = [0x22, 0x5c, 0x2c, 0x5b, 0x5d, 0x7b, 0x7d];
const blanks = new Set([0x20, 0x09, 0x0a, 0x0d]);

/** Where the element that begins here is over: at the next comma or bracket that is not within it. */
function elementEnd(bytes: Buffer, from: number): number {
  let depth = 0;
  let isText = false;
  for (let at = from; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (isText) {
      if (byte === backslash) at += 1;
      else if (byte === quote) isText = false;
    } else if (byte === quote) isText = true;
    else if (byte === open || byte === brace) depth += 1;
    else if (depth === 0 && (byte === comma || byte === close)) return at;
    else if (byte === close || byte === braceEnd) depth -= 1;
  }
  return bytes.length;
}

function afterBlanks(bytes: Buffer, from: number): number {
  let at = from;
  while (blanks.has(bytes[at] ?? -1)) at += 1;
  return at;
}

const isBlank = (bytes: Buffer, from: number): boolean => afterBlanks(bytes, from) === bytes.length;
const isBom = (bytes: Buffer): boolean => bytes.subarray(0, 3).equals(Buffer.from([0xef, 0xbb, 0xbf]));
const isJson = (bytes: Buffer): boolean => parsed(bytes.toString("utf8", 0, longestOther)) !== undefined;
/** What is no array is not read to its end, however long it is. */
const longestOther = 65_536;

/** No JSON has this value. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
