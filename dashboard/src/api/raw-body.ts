import { errorFrom, unreachable } from "./api-error.js";
import { refusals } from "./client.js";

/** The bytes of a message, or as many of them as one may look at. */
export interface RawBody {
  readonly bytes: Uint8Array;
  /** How many it has in all; no fewer than there are in `bytes`. */
  readonly total: number;
  readonly contentType: string | null;
}

/** What a page holds of a body: the rest is not even fetched, and is there for whoever downloads it. */
const mostBytes = 1_048_576;
const timeoutMs = 30_000;

export async function getRawBody(path: string, size: number): Promise<RawBody> {
  const ending = new AbortController();
  const signal = AbortSignal.any([ending.signal, AbortSignal.timeout(timeoutMs)]);
  try {
    const answer = await fetch(path, { credentials: "same-origin", cache: "no-store", redirect: "error", signal });
    if (!answer.ok) throw await refusalOf(answer);
    const bytes = await firstBytes(answer);
    const length = Number(answer.headers.get("content-length") ?? size);
    return { bytes, total: Math.max(length, bytes.length), contentType: answer.headers.get("content-type") };
  } catch (error) {
    if (error instanceof TypeError || error instanceof DOMException) throw unreachable();
    throw error;
  } finally {
    ending.abort();
  }
}

async function refusalOf(answer: Response): Promise<Error> {
  if (answer.status === 401) refusals.set(refusals.get() + 1);
  return errorFrom(answer.status, await answer.json().catch(() => undefined));
}

async function firstBytes(answer: Response): Promise<Uint8Array> {
  const reader = answer.body?.getReader();
  if (reader === undefined) return new Uint8Array();
  const taken = new Uint8Array(mostBytes);
  let length = 0;
  while (length < mostBytes) {
    const { done, value } = await reader.read();
    if (done) break;
    const fitting = value.subarray(0, mostBytes - length);
    taken.set(fitting, length);
    length += fitting.length;
  }
  return taken.slice(0, length);
}
