import type { IncomingMessage } from "node:http";
import type { Arrival } from "../transport.js";
import { comeAgain, failure, type HttpAnswer } from "./http-answer.js";
import { isAuthorized } from "./http-credentials.js";
import type { HttpInboundSettings } from "./http-inbound-settings.js";

/** The bytes that all requests of a listener hold together, so that many large ones cannot exhaust the memory. */
export class WaitingBytes {
  private readonly most: number;
  private held = 0;

  constructor(most: number) {
    this.most = most;
  }

  take(bytes: number): boolean {
    if (this.held + bytes > this.most) return false;
    this.held += bytes;
    return true;
  }

  give(bytes: number): void {
    this.held -= bytes;
  }
}

/** What a request weighs beside its body, so that many empty ones are bounded too. */
const requestBytes = 2_048;
const longestKey = 255;

/** Why a request is not for this listener, from its head alone; null where it is. */
export function objectionTo(
  request: IncomingMessage,
  settings: HttpInboundSettings,
  authorization: string | null,
): HttpAnswer | null {
  const { headers, method = "" } = request;
  if (pathOf(request) !== settings.path) return failure(404, "NOT_FOUND", "Nothing is taken in at this path.");
  if (authorization !== null && !isAuthorized(headers.authorization, authorization)) {
    const scheme = settings.auth?.kind === "basic" ? "Basic" : "Bearer";
    const challenge = { "www-authenticate": `${scheme} realm="${settings.path}"` };
    return failure(401, "UNAUTHORIZED", "The request carries no credentials, or wrong ones.", challenge);
  }
  if (!settings.methods.includes(method)) {
    const allow = settings.methods.join(", ");
    return failure(405, "BAD_REQUEST", `Send messages by ${allow}.`, { allow });
  }
  const type = (headers["content-type"] ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
  if (settings.contentTypes.length > 0 && !settings.contentTypes.some((taken) => matches(taken, type))) {
    const taken = settings.contentTypes.join(", ");
    return failure(415, "UNSUPPORTED_MEDIA_TYPE", `Content-Type must be one of: ${taken}.`);
  }
  if (![undefined, "identity"].includes(headers["content-encoding"])) {
    return failure(415, "UNSUPPORTED_MEDIA_TYPE", "Send the body as it is, without a Content-Encoding.");
  }
  if (Number(headers["content-length"] ?? 0) > settings.maxBodyBytes) return tooLarge(settings);
  const key = keyOf(request, settings);
  if (key !== undefined && (key.length > longestKey || !/^[\x20-\x7e]+$/.test(key))) {
    return failure(400, "BAD_REQUEST", `${settings.keyHeader} must be 1 to ${longestKey} printable characters.`);
  }
  return null;
}

/** The whole body, or why it is not taken. It gives back to `waiting` what it took, unless there is a body. */
export async function readBody(
  request: IncomingMessage,
  settings: HttpInboundSettings,
  waiting: WaitingBytes,
): Promise<{ readonly body: Buffer; readonly weight: number } | HttpAnswer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  let weight = 0;
  const refuse = (answer: HttpAnswer): HttpAnswer => {
    waiting.give(weight);
    // What still comes is thrown away, within the time a request has: a sender that is cut off would miss the answer.
    request.resume();
    return answer;
  };
  const take = (more: number): boolean => {
    const isTaken = waiting.take(more);
    if (isTaken) weight += more;
    return isTaken;
  };
  if (!take(requestBytes)) return refuse(comeAgain("too much waits to be taken in"));
  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > settings.maxBodyBytes) return refuse(tooLarge(settings));
      if (!take(chunk.length)) return refuse(comeAgain("too much waits to be taken in"));
      chunks.push(chunk);
    }
  } catch {
    return refuse(failure(400, "BAD_REQUEST", "The body was cut off."));
  }
  if (bytes === 0) return refuse(failure(400, "BAD_REQUEST", "The body is empty: it must be the message."));
  return { body: Buffer.concat(chunks, bytes), weight };
}

export function arrivalOf(request: IncomingMessage, body: Buffer, settings: HttpInboundSettings): Arrival {
  const { remoteAddress = "", remotePort = 0 } = request.socket;
  const key = keyOf(request, settings);
  const kept = new Set(["content-type", ...settings.keepHeaders]);
  const headers: Record<string, string> = {};
  for (const name of kept) {
    const value = request.headers[name];
    if (value !== undefined) headers[name] = Array.isArray(value) ? value.join(", ") : value;
  }
  // Not to be taken for the control id of another message.
  const named = key === undefined ? {} : { key: `key:${key}` };
  return { body, peer: `${remoteAddress}:${remotePort}`, headers, ...named };
}

function tooLarge({ maxBodyBytes }: HttpInboundSettings): HttpAnswer {
  return failure(413, "BODY_TOO_LARGE", `The body is larger than the ${maxBodyBytes} bytes that are taken here.`);
}

function keyOf({ headers }: IncomingMessage, { keyHeader }: HttpInboundSettings): string | undefined {
  const sent = headers[keyHeader];
  return Array.isArray(sent) ? sent.join(", ") : sent;
}

const pathOf = ({ url = "" }: IncomingMessage): string => url.split("?", 1)[0] ?? "";

/** "text/*" takes every text. */
function matches(taken: string, type: string): boolean {
  return taken.endsWith("/*") ? type.startsWith(taken.slice(0, -1)) : taken === type;
}
