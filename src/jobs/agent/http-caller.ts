import {
  type ClientRequest,
  Agent as HttpAgent,
  request as httpRequest,
  type IncomingMessage,
  type RequestOptions,
} from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import type { Reply } from "../core/agent/reply.js";

export interface HttpCall {
  /** The address of a node, and the path there. */
  readonly url: string;
  /** Sent where there is one; else the address is only read. */
  readonly body?: unknown;
  /** To the last byte of the answer. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** 64 tasks with the largest payload there is, and room. */
const largestAnswerBytes = 32 * 1_048_576;

/** A long poll takes one, and the renewals of many leases share the others. */
const connections = { keepAlive: true, maxSockets: 8, scheduling: "lifo" } as const;

/**
 * Sends requests of JSON to nodes, over connections that are kept. Nothing is thrown: who cannot be reached is an answer too.
 * Redirects are not followed, for whoever redirects is no node and gets no token.
 */
export class HttpCaller {
  private readonly token: string | null;
  private readonly plain = new HttpAgent(connections);
  private readonly secure = new HttpsAgent(connections);

  constructor(token: string | null) {
    this.token = token;
  }

  async send(call: HttpCall): Promise<Reply> {
    const first = await this.attempt(call);
    // A kept connection that its server closed just now: the request did not get there.
    return first === "connection went stale" ? await this.send(call) : first;
  }

  /** Ends every connection. */
  close(): void {
    this.plain.destroy();
    this.secure.destroy();
  }

  private attempt({ url, body, timeoutMs, signal }: HttpCall): Promise<Reply | "connection went stale"> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve({ kind: "unreached", reason: "it was called off" });
      const text = body === undefined ? "" : JSON.stringify(body);
      let request: ClientRequest;
      try {
        request = this.open(url, this.optionsOf(text));
      } catch (error) {
        return resolve(unreached(error));
      }
      const callOff = (): void => void request.destroy(new Error("it was called off"));
      const timer = setTimeout(
        () => request.destroy(new Error(`no answer within ${timeoutMs / 1_000} s`)),
        Math.ceil(timeoutMs),
      );
      const settle = (reply: Reply | "connection went stale"): void => {
        clearTimeout(timer);
        signal.removeEventListener("abort", callOff);
        resolve(reply);
      };
      signal.addEventListener("abort", callOff, { once: true });
      let isAnswered = false;
      request.on("response", (response) => {
        isAnswered = true;
        read(response).then(settle, (error: unknown) => {
          request.destroy();
          settle(unreached(error));
        });
      });
      request.on("error", (error: NodeJS.ErrnoException) => {
        const isStale = request.reusedSocket && !isAnswered && (error.code === "ECONNRESET" || error.code === "EPIPE");
        settle(isStale ? "connection went stale" : unreached(error));
      });
      // Who would speak another protocol from here on is left without an error.
      request.on("close", () => {
        if (!isAnswered) settle(unreached(new Error("the connection ended without an answer")));
      });
      request.end(text);
    });
  }

  private optionsOf(text: string): RequestOptions {
    const json = "application/json";
    const authorization = this.token === null ? {} : { authorization: `Bearer ${this.token}` };
    if (text === "") return { method: "GET", headers: { accept: json, ...authorization } };
    const sent = { "content-type": json, "content-length": Buffer.byteLength(text) };
    return { method: "POST", headers: { accept: json, ...sent, ...authorization } };
  }

  private open(url: string, options: RequestOptions) {
    return url.startsWith("https:")
      ? httpsRequest(url, { ...options, agent: this.secure })
      : httpRequest(url, { ...options, agent: this.plain });
  }
}

async function read(response: IncomingMessage): Promise<Reply> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > largestAnswerBytes) throw new Error(`an answer of more than ${largestAnswerBytes} bytes`);
    chunks.push(chunk);
  }
  return {
    kind: "answered",
    status: response.statusCode ?? 0,
    isNode: response.headers["x-holdfast-node"] !== undefined,
    body: parse(Buffer.concat(chunks).toString("utf8")),
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A connection that is refused at each address of a name has no message of its own, only a code. */
function unreached(error: unknown): Reply {
  const { message, code } = error as NodeJS.ErrnoException;
  return { kind: "unreached", reason: message || code || String(error) };
}
