import { type ClientRequest, type IncomingHttpHeaders, type IncomingMessage, request as plain } from "node:http";
import { request as encrypted } from "node:https";
import { HoldfastError } from "../errors.js";
import type { Limits } from "./limits.js";

export interface NodeCall {
  readonly address: URL;
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  /** Nobody waits for the answer any more. */
  readonly signal: AbortSignal;
}

export interface NodeReply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/**
 * Asks another node once, over a connection of its own. What was not sent is `NODE_AWAY`, and may be tried again; what was sent
 * and not answered is `UNKNOWN_OUTCOME`. No redirect is followed.
 */
export async function callNode(call: NodeCall, limits: Limits): Promise<NodeReply> {
  const { address, signal } = call;
  let isConnected = false;
  const send = address.protocol === "https:" ? encrypted : plain;
  const path = `${address.pathname.replace(/\/$/, "")}${call.path}`;
  const headers = {
    ...call.headers,
    ...(call.body === null ? {} : { "content-length": Buffer.byteLength(call.body) }),
  };
  const request = send(address, { method: call.method, path, headers, agent: false, signal });
  const connecting = setTimeout(() => request.destroy(new Error("no connection in time")), limits.forwardConnectMs);
  const answering = setTimeout(() => request.destroy(new Error("no answer in time")), limits.forwardMs);
  request.once("socket", (socket) => {
    socket.once(address.protocol === "https:" ? "secureConnect" : "connect", () => {
      isConnected = true;
      clearTimeout(connecting);
    });
  });
  try {
    const response = await answered(request, call.body);
    return { status: response.statusCode ?? 0, headers: response.headers, body: await read(response, limits) };
  } catch (error) {
    throw failureOf(error, address, isConnected);
  } finally {
    clearTimeout(connecting);
    clearTimeout(answering);
    request.destroy();
  }
}

async function answered(request: ClientRequest, body: string | null): Promise<IncomingMessage> {
  return await new Promise<IncomingMessage>((resolve, reject) => {
    request.once("response", resolve).on("error", reject);
    // Who would speak another protocol from here on is left without an error.
    request.once("close", () => reject(new Error("the connection ended without an answer")));
    request.end(body ?? undefined);
  });
}

async function read(response: IncomingMessage, { forwardBytes }: Limits): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of response as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > forwardBytes) throw new Error(`an answer of more than ${forwardBytes} bytes`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

function failureOf(error: unknown, { origin }: URL, isConnected: boolean): HoldfastError {
  const { code = "", message } = error as NodeJS.ErrnoException;
  const why = code === "" ? message : code;
  return isConnected
    ? new HoldfastError("UNKNOWN_OUTCOME", `The leader at ${origin} was asked and did not answer (${why}).`, {
        cause: error,
      })
    : new HoldfastError("NODE_AWAY", `The leader at ${origin} cannot be reached (${why}): try again in a moment.`, {
        cause: error,
      });
}
