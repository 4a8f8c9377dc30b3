import type { Socket } from "node:net";
import { errorText } from "../../../errors.js";
import { pause } from "../../../lifecycle/pause.js";
import type { Framing } from "../../core/framing/framing.js";
import { SourceStanding } from "../standing.js";
import type { Arrival, Receipt, Source, SourceParts, SourceState } from "../transport.js";
import { HeldBytes } from "./held-bytes.js";
import { type Answer, InboundConnection } from "./inbound-connection.js";
import type { ListenerSettings } from "./listener-settings.js";
import { PortListener, stoppedWhileStarting } from "./port-listener.js";

/** What a protocol adds to a port and its frames. */
export interface FrameProtocol {
  readonly framing: Framing;
  /** The answer that is kept with a message. */
  acknowledge(body: Buffer, receipt: Receipt): Buffer | null;
  /** What goes back for a frame. */
  answer(body: Buffer, receipt: Receipt): Answer;
  /** What goes back for a frame that is not read to its end, of which the beginning is there. */
  refuse(head: Buffer, reason: string, retry: boolean): Uint8Array | null;
  /** Whether a sender is told nothing, so that what is refused has to be kept here and tried again. */
  readonly mute: boolean;
}

/** What is under commit when the source stops gets so long to be answered. */
const lastAnswersMs = 2_000;
const firstRetryMs = 100;
const longestRetryMs = 5_000;

/** Takes in the frames of every connection to a port. The answer to a frame is sent after its commit, never before. */
export class FramedSource implements Source {
  private readonly parts: SourceParts<ListenerSettings>;
  private readonly protocol: FrameProtocol;
  private readonly standing: SourceStanding;
  private readonly held: HeldBytes;
  private readonly connections = new Set<InboundConnection>();
  private listener: PortListener | null = null;
  private starting: Promise<void> | null = null;
  private stopping: Promise<void> | null = null;
  /** How often it was told to stop: whoever waits to start it sees that it shall not. */
  private stops = 0;
  private over = new AbortController();

  constructor(parts: SourceParts<ListenerSettings>, protocol: FrameProtocol) {
    this.parts = parts;
    this.protocol = protocol;
    this.standing = new SourceStanding(parts);
    this.held = new HeldBytes(parts.settings.maxWaitingBytes);
  }

  get state(): SourceState {
    return this.standing.state;
  }

  /** Where it listens; null while it does not. */
  get port(): number | null {
    return this.listener?.port ?? null;
  }

  async start(): Promise<void> {
    const { stops } = this;
    if (this.stopping !== null) await this.stopping;
    if (this.stops !== stops) throw stoppedWhileStarting(this.parts.name);
    this.starting ??= this.open();
    try {
      await this.starting;
    } catch (error) {
      this.starting = null;
      throw error;
    }
  }

  async stop(): Promise<void> {
    this.stops += 1;
    this.stopping ??= this.close();
    try {
      await this.stopping;
    } finally {
      this.stopping = null;
    }
  }

  private async open(): Promise<void> {
    this.over = new AbortController();
    const { signal } = this.over;
    this.standing.become("starting");
    this.listener = new PortListener({
      ...this.parts,
      onSocket: (socket, peer) => this.receive(socket, peer, signal),
      onWait: (reason) => this.standing.become("starting", reason),
    });
    try {
      await this.listener.open(signal);
    } catch (error) {
      this.listener = null;
      if (!signal.aborted) this.standing.become("failed", errorText(error));
      throw error;
    }
    this.tell();
  }

  private async close(): Promise<void> {
    const { clock } = this.parts;
    this.over.abort();
    this.listener?.close();
    this.listener = null;
    for (const connection of this.connections) {
      if (connection.busy) connection.retire();
      else connection.destroy();
    }
    await this.starting?.catch(() => undefined);
    this.starting = null;
    const patience = new AbortController();
    const closed = Promise.all([...this.connections].map(async (connection) => await connection.closed));
    await Promise.race([closed, pause(clock, lastAnswersMs, patience.signal)]);
    patience.abort();
    for (const connection of this.connections) connection.destroy();
    this.standing.become("stopped");
  }

  private receive(socket: Socket, peer: string, over: AbortSignal): void {
    const { settings, clock, log } = this.parts;
    const { framing } = this.protocol;
    const connection = new InboundConnection({
      socket,
      peer,
      reader: framing.createReader(settings),
      limits: settings,
      clock,
      log,
      take: async (body, from) => await this.take({ body, peer: from }, over),
      held: this.held,
      refuse: (head, reason, retry) => this.protocol.refuse(head, reason, retry),
    });
    this.connections.add(connection);
    this.tell();
    void connection.closed.then(() => {
      this.connections.delete(connection);
      this.tell();
    });
  }

  /** A connection that came or went is told as long as the port is open. */
  private tell(): void {
    if (this.port !== null) this.standing.become("listening", null, this.connections.size);
  }

  private async take(arrival: Arrival, over: AbortSignal): Promise<Answer> {
    const { log } = this.parts;
    let receipt = await this.accept(arrival, over);
    for (let ms = firstRetryMs; this.protocol.mute && mayComeAgain(receipt); ms = Math.min(ms * 2, longestRetryMs)) {
      if (over.aborted) break;
      if (ms === firstRetryMs)
        log.warn({ peer: arrival.peer, reason: receipt.reason }, "a message is held until it can be kept");
      await pause(this.parts.clock, ms, over);
      receipt = await this.accept(arrival, over);
    }
    if (receipt.kind === "refused") {
      // Whoever is told sends it again; that a message is lost must not go unnoticed.
      const level = this.protocol.mute ? "error" : "debug";
      log[level]({ peer: arrival.peer, reason: receipt.reason }, "a message was not taken in");
    }
    try {
      return this.protocol.answer(arrival.body, receipt);
    } catch (error) {
      log.error({ peer: arrival.peer, err: error }, "a message could not be answered: its connection is closed");
      return { bytes: null, last: true };
    }
  }

  private async accept(arrival: Arrival, over: AbortSignal): Promise<Receipt> {
    if (over.aborted) return { kind: "refused", reason: "the connection stops", retry: true };
    try {
      return await this.parts.accept(arrival, (receipt) => this.protocol.acknowledge(arrival.body, receipt));
    } catch (error) {
      this.parts.log.error({ peer: arrival.peer, err: error }, "a message could not be taken in");
      return { kind: "refused", reason: "something went wrong; the node's log says what", retry: true };
    }
  }
}

function mayComeAgain(receipt: Receipt): receipt is Extract<Receipt, { kind: "refused" }> {
  return receipt.kind === "refused" && receipt.retry;
}
