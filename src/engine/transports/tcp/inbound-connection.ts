import type { Socket } from "node:net";
import type { Logger } from "pino";
import type { Clock } from "../../../election/clock.js";
import type { FrameReader } from "../../core/framing/framing.js";
import { Deadline } from "./deadline.js";
import type { HeldBytes } from "./held-bytes.js";

export interface ConnectionLimits {
  /** How many frames may be read and not yet answered. */
  readonly maxUncommitted: number;
  /** 0 is for ever. */
  readonly idleTimeoutMs: number;
  readonly readTimeoutMs: number;
  readonly writeTimeoutMs: number;
}

/** What goes back for a frame: bytes, or nothing; and whether the connection ends with it. */
export interface Answer {
  readonly bytes: Uint8Array | null;
  readonly last: boolean;
}

export interface ConnectionParts {
  readonly socket: Socket;
  readonly peer: string;
  readonly reader: FrameReader;
  readonly limits: ConnectionLimits;
  readonly clock: Clock;
  readonly log: Logger;
  /** What all connections of the source hold together. */
  readonly held: HeldBytes;
  /** Commits a frame and says what is answered. Never rejects. */
  readonly take: (body: Buffer, peer: string) => Promise<Answer>;
  /** What is answered to a frame that is not read to its end: whether it may come again, and how it begins. */
  readonly refuse: (head: Buffer, reason: string, retry: boolean) => Uint8Array | null;
}

/** Where memory is short, frames of this size are still taken: it is the long ones that use it up. */
const smallBytes = 65_536;

/** For how long a peer may go on sending after the last answer, and how long it may pause in that. */
interface Linger {
  readonly ms: number;
  readonly silentMs: number;
}

/** Closed at once, what a peer sends in vain would cost it the answer: many read it only when they have sent everything. */
const linger: Linger = { ms: 30_000, silentMs: 2_000 };
const lingerAtStop: Linger = { ms: 200, silentMs: 200 };

/**
 * One connection of a sender. Frames are taken in the order they come, and answered in that order. While as many are under way as
 * may be, nothing is read, so that a sender is slowed down rather than buffered.
 */
export class InboundConnection {
  readonly closed: Promise<void>;
  private readonly parts: ConnectionParts;
  /** Frames that are under way, the oldest first, each with its answer once it has one. */
  private readonly underWay: { readonly bytes: number; answer: Answer | null }[] = [];
  private readonly receiving: Deadline;
  private readonly writing: Deadline;
  /** Answers that the kernel has not taken yet, since nobody reads them. */
  private unwritten = 0;
  /** How many bytes of all that is held are this connection's. */
  private holding = 0;
  private frames = 0;
  private watched = "";
  private peerEnded = false;
  /** No further frame is taken: how long the peer may linger after its last answer. */
  private leaving: Linger | null = null;
  /** All is answered: what still comes is thrown away until then. */
  private lingersUntil: number | null = null;

  constructor(parts: ConnectionParts) {
    const { socket, clock, log, peer } = parts;
    this.parts = parts;
    this.receiving = new Deadline(clock, () => this.overdue());
    this.writing = new Deadline(clock, () => this.giveUp("its answers are not read"));
    this.closed = new Promise((resolve) => {
      socket.once("close", () => {
        this.receiving.dispose();
        this.writing.dispose();
        this.hold(0);
        this.tellLeftovers();
        resolve();
      });
    });
    socket.on("error", (error) => log.debug({ peer, err: error }, "a connection broke"));
    socket.on("data", (chunk: Buffer) => this.receive(chunk));
    socket.once("end", () => {
      this.peerEnded = true;
      this.proceed();
    });
    this.watch();
  }

  /** Whether frames of it wait for their commit or their answer. */
  get busy(): boolean {
    return this.underWay.length > 0 || this.unwritten > 0;
  }

  /** Takes no further frame. Those that are under way are answered, then the connection ends. */
  retire(): void {
    this.leave(lingerAtStop);
  }

  destroy(): void {
    this.parts.socket.destroy();
  }

  private receive(chunk: Buffer): void {
    // Nothing is read into a connection that is about to end: what comes now is thrown away.
    if (this.lingersUntil !== null) this.lingerOn(this.lingersUntil);
    const { socket, held, reader } = this.parts;
    // A socket that broke still emits what it had buffered: nobody is there any more to answer.
    if (this.leaving !== null || socket.destroyed) return;
    reader.push(chunk);
    this.proceed();
    if (this.leaving === null && held.isFull && reader.held > smallBytes) {
      this.refuse("as many bytes are under way as this node takes at a time", Buffer.from(reader.head()), true);
    }
  }

  /** Takes as many frames as may be under way, and then reads on or does not. */
  private proceed(): void {
    const { reader, limits, socket } = this.parts;
    if (socket.destroyed) return;
    while (!reader.isEmpty && this.leaving === null && this.underWay.length + this.unwritten < limits.maxUncommitted) {
      const step = reader.next();
      if (step.kind === "frame") this.take(step.body);
      if (step.kind === "broken") this.refuse(step.reason, step.head, false);
    }
    // One chunk may wait in the reader; a sender that waits for its answers is never held up.
    if (reader.isEmpty || this.leaving !== null) socket.resume();
    else socket.pause();
    if (!this.busy && (this.leaving !== null || (this.peerEnded && reader.isEmpty))) this.linger();
    this.hold(reader.held + this.underWay.reduce((sum, { bytes }) => sum + bytes, 0));
    this.watch();
  }

  private take(body: Uint8Array): void {
    const frame: { readonly bytes: number; answer: Answer | null } = { bytes: body.length, answer: null };
    this.frames += 1;
    this.underWay.push(frame);
    const taken = this.parts.take(Buffer.from(body.buffer, body.byteOffset, body.length), this.parts.peer);
    void taken.then((answer) => {
      frame.answer = answer;
      this.answer();
    });
  }

  /** Sends the answers that are there, but none before that of the frame in front of it. */
  private answer(): void {
    while (this.underWay[0]?.answer) {
      const answer = this.underWay.shift()?.answer;
      if (answer?.bytes) this.write(answer.bytes);
      if (answer?.last) {
        // What came behind it is not answered: the sender cannot know to which frame an answer belongs.
        this.underWay.length = 0;
        this.leave(linger);
      }
    }
    this.proceed();
  }

  /** Reads no further. What came before is answered first. */
  private refuse(reason: string, head: Uint8Array | null, retry: boolean): void {
    const { log, peer, refuse } = this.parts;
    log.warn({ peer, reason }, "a connection is closed: its bytes are not read on");
    const bytes = head === null ? null : refuse(Buffer.from(head), reason, retry);
    this.parts.reader.discard();
    this.underWay.push({ bytes: 0, answer: { bytes, last: true } });
    this.leaving = linger;
    queueMicrotask(() => this.answer());
  }

  private write(bytes: Uint8Array): void {
    const { socket, limits } = this.parts;
    if (socket.destroyed) return;
    this.unwritten += 1;
    if (this.unwritten === 1) this.writing.set(limits.writeTimeoutMs);
    socket.write(bytes, () => {
      this.unwritten -= 1;
      if (this.unwritten === 0) this.writing.clear();
      else this.writing.set(limits.writeTimeoutMs);
      this.proceed();
    });
  }

  private leave(how: Linger): void {
    if (this.leaving === null || how.ms < this.leaving.ms) this.leaving = how;
    if (this.lingersUntil !== null) {
      this.lingersUntil = Math.min(this.lingersUntil, this.parts.clock.mono() + how.ms);
      this.lingerOn(this.lingersUntil);
    }
    this.proceed();
  }

  /** All is answered: ends our side, and gives the peer a moment to read that and end its own. */
  private linger(): void {
    if (this.lingersUntil !== null) return;
    this.lingersUntil = this.parts.clock.mono() + (this.leaving ?? linger).ms;
    this.parts.socket.end();
    this.lingerOn(this.lingersUntil);
  }

  private lingerOn(until: number): void {
    this.receiving.set(Math.min((this.leaving ?? linger).silentMs, until - this.parts.clock.mono()));
  }

  /** Sets the deadline of what is waited for. Our own work is not held against the sender. */
  private watch(): void {
    if (this.lingersUntil !== null) return;
    const { reader, limits } = this.parts;
    if (reader.begun && reader.isEmpty && this.leaving === null) {
      const watched = `frame ${this.frames}`;
      if (this.watched !== watched) this.receiving.set(limits.readTimeoutMs);
      this.watched = watched;
      return;
    }
    this.watched = "";
    if (this.busy || this.leaving !== null || limits.idleTimeoutMs === 0) this.receiving.clear();
    else this.receiving.set(limits.idleTimeoutMs);
  }

  private overdue(): void {
    const { limits } = this.parts;
    if (this.lingersUntil !== null) return this.destroy();
    if (this.watched === "") return this.giveUp(`it was silent for ${limits.idleTimeoutMs} ms`);
    this.giveUp(`a frame that began did not end within ${limits.readTimeoutMs} ms`);
  }

  private hold(bytes: number): void {
    this.parts.held.change(bytes - this.holding);
    this.holding = bytes;
  }

  private tellLeftovers(): void {
    const { log, peer, reader } = this.parts;
    if (reader.skipped > 0) log.info({ peer, bytes: reader.skipped }, "bytes that belong to no frame were skipped");
    if (reader.begun && this.leaving === null) log.info({ peer }, "a connection ended in the middle of a frame");
  }

  private giveUp(reason: string): void {
    const { log, peer } = this.parts;
    log.info({ peer, reason }, "a connection is closed");
    this.destroy();
  }
}
