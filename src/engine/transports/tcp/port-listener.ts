import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer, type TLSSocket } from "node:tls";
import type { Logger } from "pino";
import type { Clock } from "../../../election/clock.js";
import { HoldfastError } from "../../../errors.js";
import { pause } from "../../../lifecycle/pause.js";
import { readListenerTls } from "../transport-tls.js";
import type { ListenerSettings } from "./listener-settings.js";
import { peerOf } from "./peer.js";

export interface ListenerParts {
  /** The connection's name in the graph, for what is told. */
  readonly name: string;
  readonly settings: ListenerSettings;
  readonly clock: Clock;
  readonly log: Logger;
  readonly onSocket: (socket: Socket, peer: string) => void;
  /** The port is another process's, and is tried again. */
  readonly onWait: (reason: string) => void;
}

/** The last leader may be on this machine, and let go of the port in a moment. */
const portPatienceMs = 5_000;
const portPauseMs = 100;
const handshakeTimeoutMs = 10_000;
const keepAliveMs = 30_000;
const quietMs = 60_000;

/** A port that connections come in by, encrypted or not. What is more than it takes is closed at once. */
export class PortListener {
  private readonly parts: ListenerParts;
  private server: Server | null = null;
  /** Sockets that have not finished their handshake: `onSocket` has not heard of them. */
  private readonly unready = new Map<string, Socket>();
  private refused = 0;
  private quietUntil = Number.NEGATIVE_INFINITY;

  constructor(parts: ListenerParts) {
    this.parts = parts;
  }

  /** Where it listens; null while it does not. */
  get port(): number | null {
    return (this.server?.address() as AddressInfo | null | undefined)?.port ?? null;
  }

  async open(signal: AbortSignal): Promise<void> {
    const { clock, name, settings, onWait } = this.parts;
    const server = this.createServer();
    const since = clock.mono();
    for (;;) {
      if (signal.aborted) throw stoppedWhileStarting(name);
      const error = await listenOn(server, settings);
      if (error === null) break;
      const isTaken = error.code === "EADDRINUSE";
      if (!isTaken || clock.mono() - since >= portPatienceMs) throw cannotListen(name, settings, error);
      onWait(`port ${settings.port} is taken by another process; it is tried again`);
      await pause(clock, portPauseMs, signal);
    }
    if (signal.aborted) {
      server.close();
      throw stoppedWhileStarting(name);
    }
    server.on("error", (error) => this.parts.log.error({ err: error }, "a connection could not be taken"));
    this.server = server;
  }

  /** Nothing is taken from the moment of the call. The sockets that `onSocket` got are its own to end. */
  close(): void {
    this.server?.close();
    this.server = null;
    for (const socket of this.unready.values()) socket.destroy();
  }

  private createServer(): Server {
    const { settings, name, log } = this.parts;
    // A sender may end its side behind its last message and still wait for the answer.
    const options = { allowHalfOpen: true, noDelay: true, keepAlive: true, keepAliveInitialDelay: keepAliveMs };
    let server: Server;
    if (settings.tls === null) {
      server = createServer(options, (socket) => this.receive(socket));
    } else {
      const tls = readListenerTls(settings.tls, `Inbound "${name}"`);
      server = createTlsServer({ ...options, ...tls, handshakeTimeout: handshakeTimeoutMs });
      server.on("connection", (socket: Socket) => this.hold(socket));
      server.on("secureConnection", (socket: TLSSocket) => this.receiveEncrypted(socket));
      server.on("tlsClientError", (error: Error, socket: TLSSocket) => {
        log.debug({ peer: peerOf(socket), err: error }, "a TLS connection did not come about");
        socket.destroy();
      });
    }
    server.maxConnections = settings.maxConnections;
    server.on("drop", (data) => this.tellRefused(data?.remoteAddress));
    return server;
  }

  private hold(socket: Socket): void {
    // By the far end, because the encrypted socket is another one.
    const peer = peerOf(socket);
    this.unready.set(peer, socket);
    socket.once("close", () => {
      if (this.unready.get(peer) === socket) this.unready.delete(peer);
    });
  }

  private receiveEncrypted(socket: TLSSocket): void {
    const { settings, log } = this.parts;
    this.unready.delete(peerOf(socket));
    const shown = socket.getPeerX509Certificate() !== undefined;
    // Where a certificate is only asked for, none is fine; but one of a stranger is not.
    if (settings.tls?.clientCertificate === "request" && shown && !socket.authorized) {
      const reason = String(socket.authorizationError);
      log.warn({ peer: peerOf(socket), reason }, "a connection is refused: its certificate is not trusted");
      socket.destroy();
      return;
    }
    this.receive(socket);
  }

  private receive(socket: Socket): void {
    // One that was on its way when the listener closed.
    if (this.server === null) socket.destroy();
    else this.parts.onSocket(socket, peerOf(socket));
  }

  /** The log says that connections are refused, but not once for each of them. */
  private tellRefused(address: string | undefined): void {
    const { clock, log, settings } = this.parts;
    this.refused += 1;
    if (clock.mono() < this.quietUntil) return;
    this.quietUntil = clock.mono() + quietMs;
    const told = { max_connections: settings.maxConnections, refused: this.refused, address };
    log.warn(told, "as many connections as are taken: further ones are refused");
    this.refused = 0;
  }
}

async function listenOn(server: Server, { port, host }: ListenerSettings): Promise<NodeJS.ErrnoException | null> {
  return await new Promise((resolve) => {
    const settle = (error: NodeJS.ErrnoException | null): void => {
      server.removeListener("error", settle);
      server.removeListener("listening", ready);
      resolve(error);
    };
    const ready = (): void => settle(null);
    server.once("error", settle);
    server.once("listening", ready);
    server.listen({ port, host, exclusive: true });
  });
}

export function stoppedWhileStarting(name: string): HoldfastError {
  return new HoldfastError("CLOSED", `Inbound "${name}" was stopped while it started.`);
}

const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE: "the port is taken by another process: stop that one, or choose another port",
  EADDRNOTAVAIL: "that is not an address of this machine: choose another host",
  EACCES: "this user may not bind that port: choose one above 1023",
  ENOTFOUND: "the host cannot be resolved: give an address",
};

function cannotListen(name: string, { host, port }: ListenerSettings, error: NodeJS.ErrnoException): HoldfastError {
  const why = reasons[error.code ?? ""] ?? error.message;
  return new HoldfastError("ADDRESS_IN_USE", `Inbound "${name}" cannot listen on ${host}:${port}: ${why}.`, {
    cause: error,
  });
}
