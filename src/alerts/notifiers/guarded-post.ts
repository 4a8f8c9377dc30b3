import { lookup } from "node:dns/promises";
import { request as requestPlain } from "node:http";
import { request as requestTls } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import type { Reach } from "./reachable-address.js";

export interface Post {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly reach: Reach;
  readonly signal: AbortSignal;
}

export type PostEnd =
  | { readonly kind: "answered"; readonly status: number; readonly text: string; readonly afterMs: number | null }
  /** Nothing of the address is in it but its host. */
  | { readonly kind: "failed"; readonly problem: string };

/** For all of it: the name, the connection, the answer. */
const timeoutMs = 10_000;
const mostReplyBytes = 16_384;

interface Found {
  readonly address: string;
  readonly family: number;
}

/**
 * One POST, without following redirects, within limits of time and size. The addresses of a name are looked up once, each is
 * checked, and one of those is connected to: a name that means another address a moment later leads nowhere else.
 */
export async function guardedPost(post: Post): Promise<PostEnd> {
  if (!URL.canParse(post.url)) return { kind: "failed", problem: "its address is not set, or none" };
  const limit = AbortSignal.timeout(timeoutMs);
  const signal = AbortSignal.any([limit, post.signal]);
  const url = new URL(post.url);
  const host = url.hostname.replace(/^\[|\]$/g, "");
  try {
    const found = await untilAborted(signal, addressesOf(host));
    if (found.length === 0 || found.some(({ address }) => !post.reach(host, address))) {
      return { kind: "failed", problem: `${host} is not public, and not in notify.webhook.allow` };
    }
    return await send(url, found, post, signal);
  } catch (error) {
    if (limit.aborted) return { kind: "failed", problem: `no answer within ${timeoutMs / 1_000} s` };
    if (post.signal.aborted) return { kind: "failed", problem: "it was called off" };
    return { kind: "failed", problem: problemOf(error) };
  }
}

async function addressesOf(host: string): Promise<readonly Found[]> {
  const family = isIP(host);
  return family === 0 ? await lookup(host, { all: true, verbatim: true }) : [{ address: host, family }];
}

async function send(url: URL, found: readonly Found[], post: Post, signal: AbortSignal): Promise<PostEnd> {
  const request = url.protocol === "https:" ? requestTls : requestPlain;
  const [first] = found as readonly [Found, ...Found[]];
  const known: LookupFunction = (_host, options, done) => {
    if (options.all === true) done(null, [...found]);
    else done(null, first.address, first.family);
  };
  return await new Promise<PostEnd>((resolve, reject) => {
    const headers = { "content-type": "application/json", "user-agent": "holdfast", ...post.headers };
    const bytes = Buffer.from(post.body);
    const asked = request(url, {
      method: "POST",
      headers: { ...headers, "content-length": bytes.length },
      lookup: known,
      // A connection of its own: none that was opened to an address of before is used again.
      agent: false,
      signal,
    });
    asked.on("error", reject);
    let isAnswered = false;
    // Who would speak another protocol from here on is left without an error.
    asked.on("close", () => {
      if (!isAnswered) reject(new Error("the connection ended without an answer"));
    });
    asked.on("response", (response) => {
      isAnswered = true;
      const { statusCode: status = 0, headers: said } = response;
      const chunks: Buffer[] = [];
      let size = 0;
      const end = (): void => {
        const text = Buffer.concat(chunks).toString().slice(0, mostReplyBytes);
        resolve({ kind: "answered", status, text, afterMs: afterOf(said["retry-after"]) });
        asked.destroy();
      };
      response.on("data", (chunk: Buffer) => {
        size += chunk.length;
        if (size <= mostReplyBytes) chunks.push(chunk);
        else end();
      });
      response.on("end", end);
      response.on("error", reject);
    });
    asked.end(bytes);
  });
}

/** In seconds; a date is not waited for. */
function afterOf(header: string | undefined): number | null {
  return header !== undefined && /^\d{1,6}$/.test(header) ? Number(header) * 1_000 : null;
}

/** Messages of the system may hold what was asked for; its codes do not. */
function problemOf(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  return typeof code === "string" ? `the connection failed (${code})` : "the connection failed";
}

async function untilAborted<Result>(signal: AbortSignal, work: Promise<Result>): Promise<Result> {
  // Nobody hears of it where it was called off before.
  work.catch(() => undefined);
  signal.throwIfAborted();
  return await new Promise<Result>((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error);
    signal.addEventListener("abort", abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
