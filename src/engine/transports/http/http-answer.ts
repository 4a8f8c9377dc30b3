import type { ServerResponse } from "node:http";
import type { ErrorCode } from "../../../errors.js";
import type { Accepted, Receipt } from "../transport.js";
import type { HttpInboundSettings } from "./http-inbound-settings.js";

/** What a request is answered with. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** Nobody reads the rest of the request, so nothing that follows can be told from it. */
  readonly isLast?: boolean;
}

/** How long a sender is asked to wait where the store is away: a failover takes less. */
const retryAfterSeconds = 2;

/** Kept with the message, and answered again to whoever sends it again. */
export function acknowledgement(receipt: Receipt, { malformed }: HttpInboundSettings): Buffer | null {
  if (receipt.kind === "refused") return null;
  if (receipt.malformed === null || malformed === "accept") return json({ id: receipt.id });
  const message = `The message was kept, and cannot be read: ${receipt.malformed}`;
  return json({ error: "INVALID_REQUEST" satisfies ErrorCode, message, id: receipt.id });
}

export function answerOf(receipt: Receipt, settings: HttpInboundSettings): HttpAnswer {
  if (receipt.kind === "refused") return refusalOf(receipt.reason, receipt.retry);
  return acceptedAnswer(receipt, settings);
}

function acceptedAnswer(receipt: Accepted, settings: HttpInboundSettings): HttpAnswer {
  const isBad = receipt.malformed !== null && settings.malformed === "refuse";
  return {
    status: isBad ? 422 : settings.status,
    headers: receipt.duplicate ? { "x-holdfast-duplicate": "true" } : {},
    body: receipt.ack ?? acknowledgement(receipt, settings) ?? json({ id: receipt.id }),
  };
}

function refusalOf(reason: string, retry: boolean): HttpAnswer {
  return retry ? comeAgain(reason) : failure(422, "REFUSED", reason);
}

export function comeAgain(reason: string): HttpAnswer {
  const message = `The message was not kept: ${reason}. Send it again.`;
  return { ...failure(503, "TOO_BUSY", message), headers: { "retry-after": String(retryAfterSeconds) } };
}

export function failure(
  status: number,
  error: ErrorCode,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): HttpAnswer {
  return { status, headers, body: json({ error, message }) };
}

function json(said: object): Buffer {
  return Buffer.from(`${JSON.stringify(said)}\n`);
}

export function sendAnswer(response: ServerResponse, answer: HttpAnswer): void {
  if (response.headersSent || response.destroyed) return;
  response.writeHead(answer.status, {
    "content-type": "application/json; charset=utf-8",
    "content-length": answer.body.length,
    ...(answer.isLast === true ? { connection: "close" } : {}),
    ...answer.headers,
  });
  response.end(answer.body);
}
