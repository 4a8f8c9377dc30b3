import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { parse } from "csv-parse/sync";
import { HoldfastError } from "../errors.js";
import type { Json } from "../jobs/core/job.js";
import type { OpenOutside } from "../store/outside-contract.js";
import type { ReferenceOrigin } from "./definition.js";
import type { ReadOrigin } from "./reference-builder.js";
import { namedSecret } from "./transports/named-secret.js";

type Rows = readonly Readonly<Record<string, Json>>[];

const largestBytes = 256 * 1_048_576;

/** A set that is larger belongs into a database of its own. */
const mostRows = 1_000_000;
const reach = { connectTimeoutMs: 10_000, replyTimeoutMs: 60_000, name: "holdfast reference set" };

/** Where reference sets come from. Paths of files are read from the config folder. */
export function originsOf(folder: string, openOutside: OpenOutside): ReadOrigin {
  return async (origin, signal) => {
    switch (origin.kind) {
      case "file":
        return rowsOf(await readFile(resolve(folder, origin.path), { encoding: "utf8", signal }), formatOf(origin));
      case "http":
        return rowsOf(await fetched(origin, signal), formatOf(origin));
      case "sql":
        return await queried(origin, openOutside);
    }
  };
}

type Format = "csv" | "json";

function formatOf(origin: Exclude<ReferenceOrigin, { readonly kind: "sql" }>): Format {
  const place = origin.kind === "file" ? origin.path : new URL(origin.url).pathname;
  return origin.format ?? (place.toLowerCase().endsWith(".csv") ? "csv" : "json");
}

async function queried(
  { urlFrom, query }: Extract<ReferenceOrigin, { readonly kind: "sql" }>,
  openOutside: OpenOutside,
): Promise<Rows> {
  const database = openOutside({ ...reach, url: namedSecret(urlFrom, "A reference set") });
  try {
    const rows = await database.read(query, mostRows + 1);
    if (rows.length > mostRows) throw bad(`the query answers more than ${mostRows} rows`);
    return rows.map((row) => Object.fromEntries([...row].map(([column, { json }]) => [column, json as Json])));
  } finally {
    await database.close();
  }
}

async function fetched(
  { url, headers = {} }: Extract<ReferenceOrigin, { readonly kind: "http" }>,
  signal: AbortSignal,
): Promise<string> {
  const response = await fetch(url, { headers, signal, redirect: "error" });
  if (!response.ok) throw bad(`${new URL(url).origin} answers ${response.status}`);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength;
    if (bytes > largestBytes) throw bad(`the answer has more than ${largestBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function rowsOf(text: string, format: Format): Rows {
  return format === "csv" ? fromCsv(text) : fromJson(text);
}

/** The first line names the columns. */
function fromCsv(text: string): Rows {
  try {
    return parse(text, { columns: true, bom: true, skip_empty_lines: true, trim: true }) as Rows;
  } catch (error) {
    throw bad(`it is no CSV: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function fromJson(text: string): Rows {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw bad("it is no JSON");
  }
  const isRow = (row: unknown): boolean => typeof row === "object" && row !== null && !Array.isArray(row);
  if (Array.isArray(value) && value.every(isRow)) return value as Rows;
  throw bad("it must be a JSON array of objects");
}

function bad(problem: string): HoldfastError {
  return new HoldfastError("BAD_SETTINGS", `The origin cannot be read: ${problem}.`);
}
