import { readFileSync } from "node:fs";
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { Socket } from "node:net";
import { errorText, HoldfastError } from "../errors.js";
import { answerClientError } from "./client-error.js";
import type { Limits } from "./limits.js";
import { endQueuedAnswers } from "./queued-answers.js";
import type { ServedNode } from "./served-node.js";

export interface Listener {
  readonly server: Server;
  /** How many connections are open. */
  readonly connections: () => number;
  /** Whether this connection came when there were as many as the server takes. */
  readonly isSurplus: (socket: Socket) => boolean;
  /** Ends the connections that have asked nothing yet, and every new one: a close would wait for them in vain. */
  readonly turnAway: () => void;
}

/** HTTP/1.1, encrypted where there is a certificate, with every limit in place. Not listening yet. */
export function createListener(
  node: ServedNode,
  limits: Limits,
  handler: RequestListener,
  onClientError: (status: number) => void,
): Listener {
  const options: ServerOptions = {
    maxHeaderSize: limits.headerBytes,
    // Admission asks for it, with an answer of ours.
    requireHostHeader: false,
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    connectionsCheckingInterval: limits.timeoutCheckMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
  };
  const { tlsCert, tlsKey } = node.config.api;
  const server =
    tlsCert === ""
      ? createServer(options, handler)
      : createTls({ ...options, handshakeTimeout: limits.handshakeTimeoutMs }, tlsCert, tlsKey, handler);
  server.timeout = limits.connectionTimeoutMs;
  server.maxConnections = limits.maxConnections + limits.spareConnections;
  // Counted by admission, which refuses where Node.js would drop the rest in silence. The size bounds them here.
  server.maxHeadersCount = 0;
  // Node.js would invite every body, and refuse what else is expected in words of its own: admission comes first.
  for (const event of ["checkContinue", "checkExpectation"] as const) {
    server.on(event, (request: IncomingMessage, response: ServerResponse) => server.emit("request", request, response));
  }
  endQueuedAnswers(server);
  const watched = watchConnections(server, limits, fullWarning(node, limits));
  // Short of descriptors or memory a connection is not taken: that is no reason to end.
  server.once("listening", () => {
    server.on("error", (error) => node.log.error({ err: error }, "a connection could not be taken"));
  });
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => {
    const status = answerClientError(node, error, socket);
    if (status !== null) onClientError(status);
  });
  return { server, ...watched };
}

/** By the far end, because a request over TLS has another socket than its connection. */
const farEnd = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;

function watchConnections(server: Server, { maxConnections }: Limits, full: () => void): Omit<Listener, "server"> {
  const silent = new Map<string, Socket>();
  const surplus = new Set<string>();
  let count = 0;
  let closing = false;
  server.on("connection", (socket: Socket) => {
    const name = farEnd(socket);
    count += 1;
    silent.set(name, socket);
    if (count > maxConnections) {
      surplus.add(name);
      full();
    }
    socket.once("close", () => {
      count -= 1;
      surplus.delete(name);
      if (silent.get(name) === socket) silent.delete(name);
    });
    if (closing) socket.destroy();
  });
  server.on("drop", full);
  server.on("request", ({ socket }) => silent.delete(farEnd(socket)));
  const turnAway = (): void => {
    closing = true;
    for (const socket of silent.values()) socket.destroy();
  };
  return { connections: () => count, isSurplus: (socket) => surplus.has(farEnd(socket)), turnAway };
}

function createTls(options: object, certFile: string, keyFile: string, handler: RequestListener): Server {
  try {
    const cert = readFileSync(certFile);
    const key = readFileSync(keyFile);
    return createTlsServer({ ...options, cert, key, minVersion: "TLSv1.2" }, handler);
  } catch (error) {
    const reason = errorText(error);
    throw new HoldfastError(
      "BAD_SETTINGS",
      `api.tls_cert ("${certFile}") and api.tls_key ("${keyFile}") cannot be used: ${reason}`,
      { cause: error },
    );
  }
}

const quietMs = 60_000;

/** The log says that connections are refused, but not once for each of them. */
function fullWarning(node: ServedNode, { maxConnections: connections }: Limits): () => void {
  let warnedAt = Number.NEGATIVE_INFINITY;
  return () => {
    if (performance.now() - warnedAt < quietMs) return;
    warnedAt = performance.now();
    node.log.warn(
      { node_id: node.id, connections },
      "as many connections as the server takes: further ones are refused",
    );
  };
}
