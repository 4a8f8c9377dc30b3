import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { HoldfastError } from "../errors.js";
import { errorAnswer } from "./error-answer.js";
import type { ServedNode } from "./served-node.js";

/** Answers what is not HTTP, or did not arrive in time, and ends the connection: nothing after it can be understood. */
export function answerClientError(node: ServedNode, error: NodeJS.ErrnoException, socket: Socket): number | null {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return null;
  }
  const failure = failureOf(error.code ?? "");
  const answer = errorAnswer(failure, node);
  const body = JSON.stringify(answer?.body ?? {});
  const headers = {
    ...answer?.headers,
    "content-type": "application/json; charset=utf-8",
    "content-length": String(Buffer.byteLength(body)),
    connection: "close",
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const head = [`HTTP/1.1 ${failure.status} ${STATUS_CODES[failure.status] ?? ""}`, ...lines];
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`, () => socket.destroy());
  return failure.status;
}

function failureOf(code: string): HoldfastError {
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") {
    return new HoldfastError("REQUEST_TIMEOUT", "The request did not arrive in time.");
  }
  const message = code === "HPE_HEADER_OVERFLOW" ? "The headers are too long." : "This is not a request of HTTP/1.1.";
  return new HoldfastError("BAD_REQUEST", message);
}
