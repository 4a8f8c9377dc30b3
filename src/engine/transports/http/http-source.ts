import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { errorText, HoldfastError } from "../../../errors.js";
import { pause } from "../../../lifecycle/pause.js";
import { within } from "../../../lifecycle/within.js";
import { SourceStanding } from "../standing.js";
import type { Source, SourceParts, SourceState } from "../transport.js";
import { readListenerTls } from "../transport-tls.js";
import { acknowledgement, answerOf, comeAgain, failure, type HttpAnswer, sendAnswer } from "./http-answer.js";
import { authorizationOf } from "./http-credentials.js";
import type { HttpInboundSettings } from "./http-inbound-settings.js";
import { arrivalOf, objectionTo, readBody, WaitingBytes } from "./http-request.js";

/** The last leader may be on this machine, and let go of the port in a moment. */
const portPatienceMs = 5_000;
const portPauseMs = 100;
/** What is under commit when the source stops gets so long to be answered. */
const lastAnswersMs = 2_000;

/** Takes messages by HTTP, on a port of its own, and answers after the commit. */
export class HttpSource implements Source {
  private readonly parts: SourceParts<HttpInboundSettings>;
  private readonly standing: SourceStanding;
  private readonly waiting: WaitingBytes;
  /** Requests that were handed over to be committed and are not answered yet. */
  private readonly underCommit = new Set<Promise<void>>();
  private server: Server | null = null;
  private readonly sockets = new Set<Socket>();
  private authorization: string | null = null;
  private stopping = new AbortController();
  private isWarned = false;

  constructor(parts: SourceParts<HttpInboundSettings>) {
    this.parts = parts;
    this.standing = new SourceStanding(parts);
    this.waiting = new WaitingBytes(parts.settings.maxWaitingBytes);
  }

  get state(): SourceState {
    return this.standing.state;
  }

  /** Where it listens; null while it does not. */
  get port(): number | null {
    return (this.server?.address() as AddressInfo | null | undefined)?.port ?? null;
  }

  async start(): Promise<void> {
    this.standing.become("starting");
    this.stopping = new AbortController();
    const { signal } = this.stopping;
    try {
      const { auth } = this.parts.settings;
      this.authorization = auth === null ? null : authorizationOf(auth, `Inbound "${this.parts.name}"`);
      await this.bind(this.createServer(), signal);
    } catch (error) {
      if (!signal.aborted) this.standing.become("failed", errorText(error));
      throw error;
    }
    this.tell();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    const { server } = this;
    this.server = null;
    this.standing.become("stopped");
    if (server === null) return;
    const open = [...this.sockets];
    server.close();
    server.closeIdleConnections();
    await within(
      lastAnswersMs,
      Promise.all(this.underCommit).then(() => undefined),
    );
    server.closeAllConnections();
    // Of those that are still in their handshake the server knows nothing.
    for (const socket of open) socket.destroy();
  }

  private createServer(): Server {
    const { settings, name, log } = this.parts;
    const options: ServerOptions = {
      headersTimeout: settings.readTimeoutMs,
      requestTimeout: settings.readTimeoutMs,
      keepAliveTimeout: settings.idleTimeoutMs,
      connectionsCheckingInterval: Math.min(1_000, settings.readTimeoutMs),
    };
    const server =
      settings.tls === null
        ? createServer(options)
        : createTlsServer({ ...options, ...readListenerTls(settings.tls, `Inbound "${name}"`) });
    server.maxConnections = settings.maxConnections;
    server.on(
      "request",
      (request: IncomingMessage, response: ServerResponse) => void this.answer(request, response, false),
    );
    server.on(
      "checkContinue",
      (request: IncomingMessage, response: ServerResponse) => void this.answer(request, response, true),
    );
    server.on("connection", (socket: Socket) => {
      this.sockets.add(socket);
      this.tell();
      socket.once("close", () => {
        this.sockets.delete(socket);
        this.tell();
      });
    });
    server.on("drop", () => this.warnOnce());
    server.on("tlsClientError", (error: Error) => log.debug({ err: error }, "a TLS connection did not come about"));
    return server;
  }

  private async bind(server: Server, signal: AbortSignal): Promise<void> {
    const { settings, clock, name } = this.parts;
    const { port, host } = settings;
    const since = clock.mono();
    for (;;) {
      if (signal.aborted) throw new HoldfastError("CLOSED", `Inbound "${name}" was stopped while it started.`);
      const error = await listenOn(server, port, host);
      if (error === null) break;
      const isTaken = error.code === "EADDRINUSE";
      if (!isTaken || clock.mono() - since >= portPatienceMs) throw cannotListen(name, host, port, error);
      this.standing.become("starting", `port ${port} is taken; trying again`);
      await pause(clock, portPauseMs, signal);
    }
    if (signal.aborted) {
      server.close();
      throw new HoldfastError("CLOSED", `Inbound "${name}" was stopped while it started.`);
    }
    server.on("error", (error) => this.standing.become("failed", error.message));
    this.server = server;
  }

  private tell(): void {
    const { server } = this;
    if (server === null || this.stopping.signal.aborted) return;
    server.getConnections((error, connections) => {
      if (error === null && server === this.server) this.standing.become("listening", null, connections);
    });
    if (this.state.kind === "starting") this.standing.become("listening");
  }

  private warnOnce(): void {
    if (this.isWarned) return;
    this.isWarned = true;
    const { maxConnections } = this.parts.settings;
    this.parts.log.warn(
      { max_connections: maxConnections },
      "as many connections as are taken: further ones are refused",
    );
  }

  private async answer(request: IncomingMessage, response: ServerResponse, isInvited: boolean): Promise<void> {
    // A sender that hangs up is no failure of ours.
    response.on("error", (error) => this.parts.log.debug({ err: error }, "an answer was not read"));
    try {
      sendAnswer(response, await this.take(request, response, isInvited));
    } catch (error) {
      this.parts.log.error({ err: error }, "a request failed");
      sendAnswer(response, failure(500, "INTERNAL", "Something went wrong; the node's log says what."));
    }
  }

  private async take(request: IncomingMessage, response: ServerResponse, isInvited: boolean): Promise<HttpAnswer> {
    const { settings } = this.parts;
    const objection = objectionTo(request, settings, this.authorization);
    // Who waits to be invited has sent no body, and might send it now or not: nothing after it could be read.
    if (objection !== null) return { ...objection, isLast: isInvited };
    if (isInvited) response.writeContinue();
    const read = await readBody(request, settings, this.waiting);
    if (!("weight" in read)) return read;
    try {
      if (this.stopping.signal.aborted) return { ...comeAgain("this node stops"), isLast: true };
      return await this.commit(request, response, read.body);
    } finally {
      this.waiting.give(read.weight);
    }
  }

  private async commit(request: IncomingMessage, response: ServerResponse, body: Buffer): Promise<HttpAnswer> {
    const { settings } = this.parts;
    const answered = new Promise<void>((resolve) => {
      if (response.destroyed) resolve();
      else response.once("close", resolve);
    });
    this.underCommit.add(answered);
    try {
      const arrival = arrivalOf(request, body, settings);
      const receipt = await this.parts.accept(arrival, (kept) => acknowledgement(kept, settings));
      return { ...answerOf(receipt, settings), isLast: this.stopping.signal.aborted };
    } finally {
      void answered.then(() => this.underCommit.delete(answered));
    }
  }
}

async function listenOn(server: Server, port: number, host: string): Promise<NodeJS.ErrnoException | null> {
  return await new Promise((resolve) => {
    const settle = (error: NodeJS.ErrnoException | null): void => {
      server.removeListener("error", settle);
      server.removeListener("listening", ready);
      resolve(error);
    };
    const ready = (): void => settle(null);
    server.once("error", settle);
    server.once("listening", ready);
    server.listen(port, host);
  });
}

function cannotListen(name: string, host: string, port: number, error: NodeJS.ErrnoException): HoldfastError {
  const why =
    error.code === "EADDRINUSE" ? "another process has it: stop that one, or choose another port" : error.message;
  return new HoldfastError("ADDRESS_IN_USE", `Inbound "${name}" cannot listen on ${host}:${port}: ${why}.`, {
    cause: error,
  });
}
