import { open } from "node:fs/promises";
import { resolve } from "node:path";
import { Readable } from "node:stream";
import { setTimeout as pause, setImmediate as turn } from "node:timers/promises";
import { parse } from "csv-parse";
import { errorText, HoldfastError } from "../errors.js";
import type { Json } from "../jobs/core/job.js";
import type { OpenOutside } from "../store/outside-contract.js";
import type { ReferenceOrigin } from "./definition.js";
import { inSlices } from "./in-slices.js";
import { readJsonRows } from "./json-rows.js";
import type { ReadOrigin } from "./reference-builder.js";
import { namedSecret } from "./transports/named-secret.js";

type Rows = readonly Readonly<Record<string, Json>>[];

const largestBytes = 256 * 1_048_576;

/** A set that is larger belongs into a database of its own. */
const mostRows = 1_000_000;
/** A file that nobody has written to for so long is whole. */
const restMs = 1_000;
const mostTries = 30;
const reach = { connectTimeoutMs: 10_000, replyTimeoutMs: 60_000, name: "holdfast reference set" };

/** Where reference sets come from. Paths of files are read from the config folder. */
export function originsOf(folder: string, openOutside: OpenOutside): ReadOrigin {
  return async (origin, signal) => {
    switch (origin.kind) {
      case "file":
        return await rowsOf(await readWhole(folder, origin.path, signal), formatOf(origin));
      case "http":
        return await rowsOf(await fetched(origin, signal), formatOf(origin));
      case "sql":
        return await queried(origin, openOutside, signal);
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
  signal: AbortSignal,
): Promise<Rows> {
  const database = openOutside({ ...reach, url: namedSecret(urlFrom, "A reference set") });
  const callOff = (): void => void database.close();
  signal.addEventListener("abort", callOff, { once: true });
  try {
    const rows = await database.read(query, mostRows + 1);
    if (rows.length > mostRows) throw bad(`the query answers more than ${mostRows} rows`);
    const found: Record<string, Json>[] = [];
    await inSlices(rows, (row) => {
      found.push(Object.fromEntries([...row].map(([column, { json }]) => [column, json as Json])));
    });
    return found;
  } finally {
    signal.removeEventListener("abort", callOff);
    await database.close();
  }
}

/** A part of a file is none of its versions: one that somebody is writing is read again when it has come to rest. */
async function readWhole(folder: string, path: string, signal: AbortSignal): Promise<Buffer> {
  try {
    for (let tries = 0; tries < mostTries; tries += 1) {
      const bytes = await readAtRest(resolve(folder, path), path, signal);
      if (bytes !== null) return bytes;
      await pause(restMs, undefined, { signal });
    }
  } catch (error) {
    throw error instanceof HoldfastError ? error : bad(`${path} ${reasonOf(error)}`, error);
  }
  throw bad(`${path} is being written without end; whoever writes it should rename it into its place`);
}

/** Null where it was changed so shortly before that its writer may only have paused, or while it was read. */
async function readAtRest(where: string, path: string, signal: AbortSignal): Promise<Buffer | null> {
  const file = await open(where);
  try {
    const before = await file.stat({ bigint: true });
    if (before.size > largestBytes) throw bad(`${path} has more than ${largestBytes} bytes`);
    if (Math.abs(Date.now() - Number(before.mtimeMs)) < restMs) return null;
    const bytes = await file.readFile({ signal });
    const after = await file.stat({ bigint: true });
    return after.size === before.size && after.mtimeNs === before.mtimeNs ? bytes : null;
  } finally {
    await file.close();
  }
}

async function fetched(
  { url, headers = {} }: Extract<ReferenceOrigin, { readonly kind: "http" }>,
  signal: AbortSignal,
): Promise<Buffer> {
  const { origin } = new URL(url);
  try {
    const response = await fetch(url, { headers, signal, redirect: "error" });
    if (!response.ok) throw bad(`${origin} answers ${response.status}`);
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
      bytes += chunk.byteLength;
      if (bytes > largestBytes) throw bad(`the answer has more than ${largestBytes} bytes`);
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  } catch (error) {
    throw error instanceof HoldfastError ? error : bad(`${origin} ${reasonOf(error)}`, error);
  }
}

/** `fetch` says that it failed, and why one level deeper. */
function reasonOf(error: unknown): string {
  const { cause = error } = error as { readonly cause?: unknown };
  const { code, name, message } = cause as NodeJS.ErrnoException;
  if (name === "TimeoutError") return "took too long";
  return `cannot be read (${code ?? message})`;
}

async function rowsOf(bytes: Buffer, format: Format): Promise<Rows> {
  return format === "csv" ? await fromCsv(bytes) : await fromJson(bytes);
}

const sliceBytes = 65_536;

/** A turn of the event loop for each slice: a long file costs the leader nothing of its lease. */
async function* slicesOf(bytes: Buffer): AsyncGenerator<Buffer> {
  for (let from = 0; from < bytes.length; from += sliceBytes) {
    yield bytes.subarray(from, from + sliceBytes);
    await turn();
  }
}

/** The first line names the columns. */
async function fromCsv(bytes: Buffer): Promise<Rows> {
  const rows: Record<string, Json>[] = [];
  const parser = parse({ columns: true, bom: true, skip_empty_lines: true, trim: true });
  try {
    for await (const row of Readable.from(slicesOf(bytes)).pipe(parser)) rows.push(row as Record<string, Json>);
    return rows;
  } catch (error) {
    throw bad(`it is no CSV: ${errorText(error)}`);
  }
}

async function fromJson(bytes: Buffer): Promise<Rows> {
  const read = await readJsonRows(bytes);
  if (read.kind === "bad") throw bad(read.problem);
  return read.rows;
}

function bad(problem: string, cause?: unknown): HoldfastError {
  return new HoldfastError("BAD_SETTINGS", `The origin is not usable: ${problem}.`, { cause });
}
