import { mayFollow } from "../access/token-travel.js";
import { type ErrorCode, errorCodes, HoldfastError } from "../errors.js";
import { oneLine } from "./paint.js";
import { UnreachedError, unansweredWithin, unreachedBy } from "./unreached.js";

export interface NodeClientOptions {
  readonly url: string;
  readonly token: string | null;
  readonly timeoutMs?: number;
}

export interface Asked {
  readonly body?: unknown;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

export interface RawAnswer {
  readonly bytes: Buffer;
  readonly contentType: string;
}

const usualTimeoutMs = 10_000;

/** Talks to one node over HTTP. What it answers as an error comes out as the same error here. */
export class NodeClient {
  readonly url: string;
  private readonly token: string | null;
  private readonly timeoutMs: number;

  constructor({ url, token, timeoutMs = usualTimeoutMs }: NodeClientOptions) {
    this.url = url.replace(/\/+$/, "");
    this.token = token;
    this.timeoutMs = timeoutMs;
  }

  /**
   * The same caller at another node of the cluster, whose address the cluster told. Null where the token must not go there.
   */
  at(url: string, timeoutMs = this.timeoutMs): NodeClient | null {
    if (this.token !== null && !mayFollow(this.url, url)) return null;
    return new NodeClient({ url, token: this.token, timeoutMs });
  }

  /** Nobody in particular at another node: for what everyone may ask, so that no token travels. */
  anonymousAt(url: string, timeoutMs = this.timeoutMs): NodeClient {
    return new NodeClient({ url, token: null, timeoutMs });
  }

  get<Answer>(path: string, asked: Asked = {}): Promise<Answer> {
    return this.ask<Answer>("GET", path, asked);
  }

  post<Answer>(path: string, asked: Asked = {}): Promise<Answer> {
    return this.ask<Answer>("POST", path, { body: {}, ...asked });
  }

  delete<Answer>(path: string, asked: Asked = {}): Promise<Answer> {
    return this.ask<Answer>("DELETE", path, asked);
  }

  /** What is no JSON, such as the body of a message. Errors are told like those of `get`. */
  async getBytes(path: string, asked: Asked = {}): Promise<RawAnswer> {
    const { response, bytes } = await this.exchange("GET", path, asked);
    const isNode = response.headers.has("x-holdfast-node");
    if (!response.ok || !isNode) this.read(response, bytes.toString());
    return { bytes, contentType: response.headers.get("content-type") ?? "" };
  }

  private async ask<Answer>(method: string, path: string, asked: Asked): Promise<Answer> {
    const { response, bytes } = await this.exchange(method, path, asked);
    return this.read<Answer>(response, bytes.toString());
  }

  private async exchange(
    method: string,
    path: string,
    { body, timeoutMs = this.timeoutMs, signal }: Asked,
  ): Promise<{ readonly response: Response; readonly bytes: Buffer }> {
    const limit = AbortSignal.timeout(timeoutMs);
    try {
      const response = await fetch(`${this.url}${path}`, {
        method,
        // Whoever redirects is no node, and gets no token.
        redirect: "manual",
        headers: {
          accept: "application/json, */*",
          ...(this.token === null ? {} : { authorization: `Bearer ${this.token}` }),
          ...(body === undefined ? {} : { "content-type": "application/json" }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: signal === undefined ? limit : AbortSignal.any([limit, signal]),
      });
      return { response, bytes: Buffer.from(await response.arrayBuffer()) };
    } catch (error) {
      signal?.throwIfAborted();
      const unreached = limit.aborted ? unansweredWithin(timeoutMs) : unreachedBy(error, this.url);
      throw new UnreachedError(this.url, unreached, error);
    }
  }

  private read<Answer>(response: Response, text: string): Answer {
    if (response.status === 204) return null as Answer;
    const answer = parse(text);
    if (answer === undefined) throw this.stranger(response);
    if (response.ok) {
      if (!response.headers.has("x-holdfast-node")) throw this.stranger(response);
      return answer as Answer;
    }
    const failure =
      failureOf(answer) ?? (response.headers.has("x-holdfast-node") ? newerFailure(response, answer) : null);
    if (failure === null) throw this.stranger(response);
    throw failure.code === "UNAUTHORIZED" ? this.unknownCaller(failure) : failure;
  }

  private unknownCaller({ details }: HoldfastError): HoldfastError {
    const message =
      this.token === null
        ? "This takes a token: set HOLDFAST_TOKEN, or name a file with --token-file."
        : "The node does not know this token, or it has expired or was revoked: check HOLDFAST_TOKEN or --token-file.";
    return new HoldfastError("UNAUTHORIZED", message, { details });
  }

  private stranger(response: Response): HoldfastError {
    const kind = response.headers.get("content-type") ?? "nothing";
    return new HoldfastError(
      "NODE_AWAY",
      `What answers at ${this.url} is no Holdfast node (HTTP ${response.status}, ${oneLine(kind)}): check --url or HOLDFAST_URL.`,
    );
  }
}

function parse(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

interface ErrorAnswer {
  readonly error?: unknown;
  readonly message?: unknown;
  readonly leader_id?: unknown;
  readonly leader_url?: unknown;
}

/** The error that the node answered with; null where it is none of ours. */
function failureOf(answer: ErrorAnswer): HoldfastError | null {
  const code = errorCodes.find((known) => known === answer.error);
  if (code === undefined) return null;
  const message =
    typeof answer.message === "string" ? answer.message : (leaderHint(code, answer) ?? `It says ${code}.`);
  return new HoldfastError(code, message, { details: { answer } });
}

/** A node of a newer version may fail in ways that have no name here. */
function newerFailure({ status }: Response, { error, message }: ErrorAnswer): HoldfastError {
  const said = [error, message].filter((each) => typeof each === "string").join(": ");
  return new HoldfastError(status === 404 ? "NOT_FOUND" : "INTERNAL", `The node answered HTTP ${status}: ${said}`);
}

function leaderHint(code: ErrorCode, { leader_id: id, leader_url: url }: ErrorAnswer): string | null {
  if (code !== "NOT_LEADER") return null;
  if (typeof id !== "string") return "This node does not lead, and no leader is known: try again in a moment.";
  return `This node does not lead; "${id}" does${typeof url === "string" ? `, at ${url}: use --url ${url}` : ""}.`;
}
