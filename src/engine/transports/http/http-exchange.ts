import type { ClientRequest, IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { Clock } from "../../../election/clock.js";
import { guardedWrite } from "../guarded-write.js";
import type { WriteGuard } from "../transport.js";
import type { HttpReply } from "./http-verdict.js";

/** What came of one request. `isStale`: a connection that was kept had been closed by the other side, unnoticed. */
export type ExchangeEnd =
  | { readonly kind: "answered"; readonly reply: HttpReply }
  | { readonly kind: "unreached"; readonly reason: string; readonly isStale: boolean }
  | { readonly kind: "unconfirmed"; readonly reason: string };

export interface ExchangeLimits {
  readonly connectTimeoutMs: number;
  readonly replyTimeoutMs: number;
  readonly maxReplyBytes: number;
}

/**
 * One request and its answer. Nothing of it leaves before the connection stands: then the guard is asked and all of it is
 * written, in one turn. So whatever fails before has written nothing, and whatever fails after may have been received.
 */
export async function exchange(
  request: ClientRequest,
  body: Buffer,
  guard: WriteGuard,
  signal: AbortSignal,
  clock: Clock,
  limits: ExchangeLimits,
): Promise<ExchangeEnd> {
  return await new Promise<ExchangeEnd>((resolve, reject) => {
    let isWritten = false;
    let reply: HttpReply | null = null;
    let takeBack = clock.wakeAt(clock.mono() + limits.connectTimeoutMs, () =>
      giveUp(`no connection within ${limits.connectTimeoutMs / 1_000} s`),
    );
    const settle = (end: ExchangeEnd): void => {
      takeBack();
      signal.removeEventListener("abort", callOff);
      resolve(end);
    };
    const giveUp = (reason: string): void => {
      const isStale = request.reusedSocket && !isWritten;
      // A connection that is not at the end of an answer can carry no other request.
      request.destroy();
      if (reply !== null) settle({ kind: "answered", reply });
      else if (isWritten) settle({ kind: "unconfirmed", reason });
      else settle({ kind: "unreached", reason, isStale });
    };
    const callOff = (): void => giveUp("it was called off");
    const write = (): void => {
      takeBack();
      try {
        guardedWrite(guard, () => {
          isWritten = true;
          request.end(body);
        });
      } catch (error) {
        request.destroy();
        signal.removeEventListener("abort", callOff);
        reject(error instanceof Error ? error : new Error(String(error)));
        return;
      }
      takeBack = clock.wakeAt(clock.mono() + limits.replyTimeoutMs, () =>
        giveUp(`no answer within ${limits.replyTimeoutMs / 1_000} s`),
      );
    };
    signal.addEventListener("abort", callOff, { once: true });
    request.on("error", (error: NodeJS.ErrnoException) =>
      giveUp(error.message || error.code || "the connection broke"),
    );
    request.on("socket", (socket: Socket) => onceConnected(socket, request, write));
    request.on("response", (response) => {
      // It answers another request, or none: this one has not left yet.
      if (!isWritten) return giveUp("it answered before it was asked");
      const { statusCode: status = 0, headers } = response;
      reply = { status, headers, body: null };
      readReply(response, limits.maxReplyBytes, (whole) => {
        settle({ kind: "answered", reply: { status, headers, body: whole } });
      });
    });
    if (signal.aborted) callOff();
  });
}

/**
 * A connection that was kept may have been closed at the other end: what has arrived about that is read first. Of two
 * immediates the second runs in the next round of the event loop, and between the two sockets are read.
 */
function onceConnected(socket: Socket, request: ClientRequest, write: () => void): void {
  const go = (): void => {
    if (!request.destroyed && !socket.destroyed) write();
  };
  if (request.reusedSocket) setImmediate(() => setImmediate(go));
  else if (socket.connecting) socket.once("encrypted" in socket ? "secureConnect" : "connect", go);
  else if ((socket as TLSSocket & { readonly secureConnecting?: boolean }).secureConnecting === true) {
    socket.once("secureConnect", go);
  } else go();
}

/** The whole body; null where it is longer than is kept. What is cut off ends with the request's own error, or here. */
function readReply(response: IncomingMessage, most: number, done: (whole: Buffer | null) => void): void {
  const chunks: Buffer[] = [];
  let bytes = 0;
  response.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= most) chunks.push(chunk);
    else {
      response.destroy();
      done(null);
    }
  });
  response.on("end", () => done(Buffer.concat(chunks)));
  response.on("error", () => done(null));
  response.on("aborted", () => done(null));
}
