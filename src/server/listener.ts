import { readFileSync } from "node:fs";
import { createServer, type RequestListener, type Server, type ServerOptions } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { Socket } from "node:net";
import { HoldfastError } from "../errors.js";
import { answerClientError } from "./client-error.js";
import type { Limits } from "./limits.js";
import type { ServedNode } from "./served-node.js";

export interface Listener {
  readonly server: Server;
  /** How many connections are open. */
  readonly connections: () => number;
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
  server.maxConnections = limits.maxConnections;
  // Counted by admission, which refuses where Node.js would drop the rest in silence. The size bounds them here.
  server.maxHeadersCount = 0;
  const { connections, turnAway } = watchConnections(server);
  server.on("clientError", (error: NodeJS.ErrnoException, socket: Socket) => {
    const status = answerClientError(node, error, socket);
    if (status !== null) onClientError(status);
  });
  warnWhenFull(server, node, limits);
  return { server, connections, turnAway };
}

/** By the far end, because a request over TLS has another socket than its connection. */
const farEnd = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;

function watchConnections(server: Server): Pick<Listener, "connections" | "turnAway"> {
  const silent = new Map<string, Socket>();
  let count = 0;
  let closing = false;
  server.on("connection", (socket: Socket) => {
    const name = farEnd(socket);
    count += 1;
    silent.set(name, socket);
    socket.once("close", () => {
      count -= 1;
      if (silent.get(name) === socket) silent.delete(name);
    });
    if (closing) socket.destroy();
  });
  server.on("request", ({ socket }) => silent.delete(farEnd(socket)));
  const turnAway = (): void => {
    closing = true;
    for (const socket of silent.values()) socket.destroy();
  };
  return { connections: () => count, turnAway };
}

function createTls(options: object, certFile: string, keyFile: string, handler: RequestListener): Server {
  try {
    const cert = readFileSync(certFile);
    const key = readFileSync(keyFile);
    return createTlsServer({ ...options, cert, key, minVersion: "TLSv1.2" }, handler);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new HoldfastError(
      "BAD_SETTINGS",
      `api.tls_cert ("${certFile}") and api.tls_key ("${keyFile}") cannot be used: ${reason}`,
      { cause: error },
    );
  }
}

const quietMs = 60_000;

/** A connection beyond the limit is closed at once; it has no answer, so the log says it, but not once for each of them. */
function warnWhenFull(server: Server, node: ServedNode, limits: Limits): void {
  let warnedAt = Number.NEGATIVE_INFINITY;
  server.on("drop", () => {
    if (performance.now() - warnedAt < quietMs) return;
    warnedAt = performance.now();
    node.log.warn(
      { node_id: node.id, connections: limits.maxConnections },
      "as many connections as the server takes: further ones are closed at once",
    );
  });
}
