import { setImmediate as turn } from "node:timers/promises";
import { invariant } from "../../../errors.js";
import type { Framing } from "../../core/framing/framing.js";
import { DestinationStanding } from "../standing.js";
import type {
  Delivery,
  DeliveryOutcome,
  Destination,
  DestinationParts,
  DestinationState,
  WriteGuard,
} from "../transport.js";
import type { LinkSettings } from "./link-settings.js";
import { type Connected, type Judge, OutboundLink } from "./outbound-link.js";

/** What a protocol adds to a connection and its frames. */
export interface ReplyProtocol {
  readonly framing: Framing;
  /** How the answer to a message is judged; null where none is waited for. */
  judgeOf(delivery: Delivery): Judge | null;
  /** Whether an answer that is still on its way on this connection could be mistaken for this message's. */
  needsNewLink(delivery: Delivery): boolean;
  /** Whether a frame that nobody waits for may be passed over. Null where any byte that nobody waits for ends the connection. */
  readonly stray: ((frame: Buffer) => boolean) | null;
}

/** A connection that was silent for longer gets a turn of the event loop, to hear that the other side has closed it. */
const freshMs = 10;

/** Sends one message after another over a connection that stays open, and is made again where it was lost. */
export class FramedDestination implements Destination {
  private readonly parts: DestinationParts<LinkSettings>;
  private readonly protocol: ReplyProtocol;
  private readonly standing: DestinationStanding;
  private isClosed = false;
  /** Ends the send that is under way. */
  private callOff: (() => void) | null = null;
  private link: OutboundLink | null = null;
  private usedAt = 0;

  constructor(parts: DestinationParts<LinkSettings>, protocol: ReplyProtocol) {
    this.parts = parts;
    this.protocol = protocol;
    this.standing = new DestinationStanding(parts);
  }

  get state(): DestinationState {
    return this.standing.state;
  }

  async send(delivery: Delivery, guard: WriteGuard, signal: AbortSignal): Promise<DeliveryOutcome> {
    invariant(this.callOff === null, `outbound "${this.parts.name}" sends one message at a time`);
    const framed = this.protocol.framing.frame(delivery.body);
    if (framed.kind === "unframeable") {
      return { kind: "rejected", reason: `It cannot be sent: ${framed.reason}.`, retry: false };
    }
    const over = new AbortController();
    const callOff = (): void => over.abort();
    if (signal.aborted || this.isClosed) callOff();
    signal.addEventListener("abort", callOff, { once: true });
    this.callOff = callOff;
    try {
      if (this.protocol.needsNewLink(delivery)) this.link?.lose("an answer to the last message may still come");
      const connected = await this.connect(over.signal);
      if (connected.kind === "unreached") return connected;
      if (over.signal.aborted) return { kind: "unreached", reason: "it was called off" };
      const judge = this.protocol.judgeOf(delivery);
      // By when it was written to: an answer that is read late may have the end of its connection behind it.
      this.usedAt = this.parts.clock.mono();
      return await connected.link.ask({ bytes: framed.bytes, guard, signal: over.signal, judge });
    } finally {
      signal.removeEventListener("abort", callOff);
      this.callOff = null;
    }
  }

  async close(): Promise<void> {
    this.isClosed = true;
    this.callOff?.();
    this.link?.lose("it was closed");
    this.standing.become("closed");
  }

  /** The connection there is, or a new one. No await lies between its answer and the write. */
  private async connect(signal: AbortSignal): Promise<Connected> {
    if (this.link !== null && this.parts.clock.mono() - this.usedAt > freshMs) {
      // The second turn begins with a look at every socket, wherever in a turn this one is.
      await turn();
      await turn();
    }
    this.link?.settleDown();
    if (this.link !== null) return { kind: "connected", link: this.link };
    this.standing.become("connecting");
    const connected = await OutboundLink.open(
      {
        ...this.parts,
        framing: this.protocol.framing,
        stray: this.protocol.stray,
        onLost: (reason) => this.forget(reason),
      },
      signal,
    );
    if (connected.kind === "unreached") {
      this.standing.become("failed", connected.reason);
      return connected;
    }
    // It may have been lost before anybody waited for it.
    if (connected.link.lost !== null) return { kind: "unreached", reason: connected.link.lost };
    if (this.isClosed) {
      connected.link.lose("it was closed");
      return { kind: "unreached", reason: "it was closed" };
    }
    this.link = connected.link;
    this.standing.become("connected");
    return connected;
  }

  private forget(reason: string): void {
    this.link = null;
    this.standing.become("idle", reason);
    this.parts.log.debug({ reason }, "the connection is gone; the next message makes a new one");
  }
}
