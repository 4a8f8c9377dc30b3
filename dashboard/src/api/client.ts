import { ApiError, errorFrom, unreachable } from "./api-error.js";
import { createStore } from "./store.js";

/**
 * The one way to the node that served the page. Reads are answered by any node; what acts is sent on to the leader by
 * the node itself. The session is a cookie that this page cannot see, so no token ever passes through here but on
 * signing in.
 */
type Method = "POST" | "PUT" | "DELETE";

export type Query = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** Counts the answers that said "who are you?": whoever shows the page looks at the session again. */
export const refusals = createStore(0);

const timeoutMs = 30_000;

export function get<Answer>(path: string, query: Query = {}, signal?: AbortSignal): Promise<Answer> {
  return request<Answer>(withQuery(path, query), { headers: { accept: "application/json" } }, signal);
}

/** Does something. No form and no foreign page can set these headers, which is how the node knows that it was us. */
export function act<Answer = unknown>(method: Method, path: string, body?: unknown): Promise<Answer> {
  const headers: Record<string, string> = {
    accept: "application/json",
    "x-holdfast-request": "dashboard",
    "x-holdfast-forward": "leader",
  };
  if (body === undefined) return request<Answer>(path, { method, headers });
  headers["content-type"] = "application/json";
  return request<Answer>(path, { method, headers, body: JSON.stringify(body) });
}

/** Fields without a value are left out: the API refuses what it does not know, and an empty filter is none. */
export function withQuery(path: string, query: Query): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  if (given.length === 0) return path;
  return `${path}?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`;
}

async function request<Answer>(path: string, init: RequestInit, signal?: AbortSignal): Promise<Answer> {
  const timeout = AbortSignal.timeout(timeoutMs);
  const answer = await answerOf(path, {
    ...init,
    credentials: "same-origin",
    cache: "no-store",
    redirect: "error",
    signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
  });
  const body = await bodyOf(answer);
  if (answer.ok) return body as Answer;
  if (answer.status === 401 && path !== "/session") refusals.set(refusals.get() + 1);
  throw errorFrom(answer.status, body);
}

async function answerOf(path: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(path, init);
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw unreachable();
  }
}

async function bodyOf(answer: Response): Promise<unknown> {
  if (answer.status === 204) return undefined;
  const text = await answer.text();
  if (text === "") return undefined;
  if (!(answer.headers.get("content-type") ?? "").includes("json")) return text;
  try {
    return JSON.parse(text);
  } catch {
    throw new ApiError(answer.status, "UNREADABLE", "The node's answer broke off. It is tried again by itself.");
  }
}
