import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { Clock } from "../../../election/clock.js";
import { errorText } from "../../../errors.js";
import type { FrameReader, Framing } from "../../core/framing/framing.js";
import { guardedWrite } from "../guarded-write.js";
import type { DeliveryOutcome, WriteGuard } from "../transport.js";
import { readClientTls } from "../transport-tls.js";
import { Deadline } from "./deadline.js";
import type { LinkSettings } from "./link-settings.js";

/**
 * What a frame from the other side means for the message that was just written; null where it is about another one. Asked
 * without a frame, what it means that none came in time; null where that says nothing.
 */
export type Judge = (reply: Buffer | null) => DeliveryOutcome | null;

export interface Question {
  readonly bytes: Uint8Array;
  readonly guard: WriteGuard;
  readonly signal: AbortSignal;
  /** Null where no answer is waited for: it is delivered once it is written. */
  readonly judge: Judge | null;
}

export interface LinkParts {
  readonly name: string;
  readonly settings: LinkSettings;
  readonly framing: Framing;
  readonly clock: Clock;
  /** Whether a frame that nobody waits for may be passed over. Null where any byte that nobody waits for ends the connection. */
  readonly stray: ((frame: Buffer) => boolean) | null;
  /** The connection cannot be used any more. */
  readonly onLost: (reason: string) => void;
}

export type Connected =
  | { readonly kind: "connected"; readonly link: OutboundLink }
  | { readonly kind: "unreached"; readonly reason: string };

const keepAliveMs = 30_000;

/** One connection to a receiver, for one message at a time. Once anything about it is in doubt it is destroyed. */
export class OutboundLink {
  private readonly parts: LinkParts;
  private readonly socket: Socket;
  private readonly reader: FrameReader;
  private asked: { readonly judge: Judge | null; readonly settle: (outcome: DeliveryOutcome) => void } | null = null;
  private lostBecause: string | null = null;
  private unwritten = false;

  private constructor(parts: LinkParts, socket: Socket) {
    this.parts = parts;
    this.socket = socket;
    this.reader = parts.framing.createReader(parts.settings);
    socket.on("data", (chunk: Buffer) => this.receive(chunk));
    socket.on("end", () => this.lose("the other side closed the connection"));
    socket.on("error", (error: NodeJS.ErrnoException) => this.lose(`the connection broke: ${wordsFor(error)}`));
    socket.on("close", () => this.lose("the connection is closed"));
  }

  static async open(parts: LinkParts, signal: AbortSignal): Promise<Connected> {
    const { settings, clock } = parts;
    const { host, port, connectTimeoutMs } = settings;
    const where = `${host}:${port}`;
    if (signal.aborted) return { kind: "unreached", reason: "it was called off" };
    let socket: Socket;
    try {
      socket = socketTo(parts);
    } catch (error) {
      return { kind: "unreached", reason: errorText(error) };
    }
    // Until somebody listens, and for what an abandoned socket still has to say: it must not be thrown.
    socket.on("error", () => undefined);
    const failure = await new Promise<string | null>((resolve) => {
      const settle = (reason: string | null): void => {
        deadline.dispose();
        signal.removeEventListener("abort", calledOff);
        socket.removeListener("error", failed);
        resolve(reason);
      };
      const calledOff = (): void => settle("it was called off");
      const failed = (error: NodeJS.ErrnoException): void => settle(`${where}: ${wordsFor(error)}`);
      const deadline = new Deadline(clock, () => settle(`${where} did not answer within ${connectTimeoutMs} ms`));
      deadline.set(connectTimeoutMs);
      signal.addEventListener("abort", calledOff, { once: true });
      socket.once("error", failed);
      socket.once(settings.tls === null ? "connect" : "secureConnect", () => settle(null));
    });
    if (failure === null) return { kind: "connected", link: new OutboundLink(parts, socket) };
    socket.destroy();
    return { kind: "unreached", reason: failure };
  }

  /** Ends it where the last message was answered before all of it was out: the rest would run into the next one. */
  settleDown(): void {
    if (this.unwritten) this.lose("the last message was answered before all of it was written");
  }

  /** Why it cannot be used any more; null while it can. */
  get lost(): string | null {
    return this.lostBecause;
  }

  /** Writes one message and waits for what becomes of it. Rejects only with what the guard threw: nothing was written then. */
  async ask({ bytes, guard, signal, judge }: Question): Promise<DeliveryOutcome> {
    if (this.lostBecause !== null) return { kind: "unreached", reason: this.lostBecause };
    const { clock, settings } = this.parts;
    const { replyTimeoutMs } = settings;
    const overdue = judge === null ? "it could not be written" : "no answer came";
    const deadline = new Deadline(clock, () => {
      const consent = this.unwritten ? null : (judge?.(null) ?? null);
      if (consent === null) this.lose(`${overdue} within ${replyTimeoutMs} ms`);
      else this.asked?.settle(consent);
    });
    const calledOff = (): void => this.lose("it was called off while it waited for the answer");
    try {
      return await new Promise<DeliveryOutcome>((resolve) => {
        const settle = (outcome: DeliveryOutcome): void => {
          this.asked = null;
          resolve(outcome);
        };
        guardedWrite(guard, () =>
          this.socket.write(bytes, (error) => {
            // A failed write is told by the socket's own error.
            if (error) return;
            this.unwritten = false;
            if (judge === null) this.asked?.settle({ kind: "delivered", reply: null });
            else if (this.asked !== null) deadline.set(replyTimeoutMs);
          }),
        );
        this.unwritten = true;
        this.asked = { judge, settle };
        deadline.set(replyTimeoutMs);
        signal.addEventListener("abort", calledOff, { once: true });
      });
    } finally {
      deadline.dispose();
      signal.removeEventListener("abort", calledOff);
    }
  }

  /** Ends it at once. A message that waits for its answer is unconfirmed. */
  lose(reason: string): void {
    if (this.lostBecause !== null) return;
    this.lostBecause = reason;
    this.socket.destroy();
    this.asked?.settle({ kind: "unconfirmed", reason });
    this.parts.onLost(reason);
  }

  private receive(chunk: Buffer): void {
    if (this.lostBecause !== null) return;
    const { stray } = this.parts;
    if (this.asked === null && stray === null) return this.lose("the other side spoke without being asked");
    this.reader.push(chunk);
    for (;;) {
      const step = this.reader.next();
      if (step.kind === "more") return;
      if (step.kind === "broken") return this.lose(`the answer cannot be read: ${step.reason}`);
      this.hear(Buffer.from(step.body.buffer, step.body.byteOffset, step.body.length));
      if (this.lostBecause !== null) return;
    }
  }

  private hear(frame: Buffer): void {
    const { asked } = this;
    if (asked?.judge) {
      const outcome = asked.judge(frame);
      if (outcome !== null) {
        asked.settle(outcome);
        // Whoever answers something else than it was asked may answer anything next.
        if (outcome.kind === "unconfirmed") this.lose(outcome.reason);
        return;
      }
    }
    if (this.parts.stray?.(frame) !== true) this.lose("the other side spoke without being asked");
  }
}

function socketTo({ settings, name }: LinkParts): Socket {
  const { host, port, tls } = settings;
  const options = { host, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: keepAliveMs };
  if (tls === null) return connect(options);
  return connectTls({ ...options, ...readClientTls(tls, `Outbound "${name}"`) });
}

const words: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nobody listens there",
  ENOTFOUND: "the host cannot be resolved",
  EAI_AGAIN: "the host cannot be resolved at the moment",
  EHOSTUNREACH: "there is no way to the host",
  ENETUNREACH: "there is no way to the network",
  ETIMEDOUT: "the host does not answer",
  ECONNRESET: "the other side broke the connection off",
  EPIPE: "the other side closed the connection",
};

function wordsFor(error: NodeJS.ErrnoException): string {
  return words[error.code ?? ""] ?? (error.message || String(error.code));
}
