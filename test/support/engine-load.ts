import { setTimeout as pause } from "node:timers/promises";
import { within } from "../../src/lifecycle/within.js";
import { waitUntil } from "../../src/store/embedded/wait-until.js";
import { codeOf, Sender } from "../integration/mllp-scene.js";
import { type Address, goesTo, messageOf, textOf, wards } from "./engine-feed.js";
import type { SentMessage } from "./engine-history.js";

/** How soon a sender tries again, or elsewhere, when it was turned away or cut off. */
export const reconnectMs = 50;
const connectTimeoutMs = 1_000;
const usualAckTimeoutMs = 1_000;
/** A sender that could not send for a while makes up for so much of it. */
const longestLagMs = 1_000;
const longestStepMs = 100;
const stopWithinMs = 60_000;

export interface LoadOptions {
  readonly senders: number;
  /** All of them together, a second. */
  readonly rate: number;
  /** Where a ward can be reached, by place; the wrong places refuse, and the next one is tried. */
  readonly waysTo: (ward: string) => readonly (Address & { readonly place: number })[];
  /** How long an acknowledgement is waited for. */
  readonly ackTimeoutMs?: number;
  /** Told of each message when it was acknowledged, refused, or given up. */
  readonly onEnd?: (end: SendingEnd) => void;
}

/** What became of one message. */
export interface SendingEnd {
  readonly sender: string;
  readonly controlId: string;
  readonly number: number;
  readonly goesTo: readonly string[];
  readonly tries: number;
  readonly kind: "acknowledged" | "refused" | "given_up";
  /** From its first sending on. */
  readonly tookMs: number;
}

interface Acknowledged {
  readonly at: number;
  /** From its first sending on. */
  readonly tookMs: number;
  /** Of the place that was asked; that of a load balancer is 0. */
  readonly place: number;
}

/**
 * Senders that each wait for the acknowledgement of one message before they send the next, as MLLP senders do. One that was not
 * acknowledged is sent again, with the same control id, wherever somebody takes it.
 */
export class EngineLoad {
  readonly sent = new Map<string, SentMessage>();
  readonly acknowledgements: Acknowledged[] = [];
  /** What was refused for good: nothing should be. */
  readonly refused: string[] = [];
  /** How often a message was written once more. */
  resends = 0;
  /** How often a connection was made. */
  connects = 0;
  private readonly waysTo: LoadOptions["waysTo"];
  private readonly ackTimeoutMs: number;
  private readonly onEnd: (end: SendingEnd) => void;
  readonly senders: number;
  private readonly sending: Promise<unknown>;
  private rate: number;
  private stopping = false;
  private givenUp = false;

  constructor({ senders, rate, waysTo, ackTimeoutMs = usualAckTimeoutMs, onEnd = () => undefined }: LoadOptions) {
    this.waysTo = waysTo;
    this.ackTimeoutMs = ackTimeoutMs;
    this.onEnd = onEnd;
    this.senders = senders;
    this.rate = rate;
    this.sending = Promise.all(Array.from({ length: senders }, (_, index) => this.send(index)));
    // Whoever stops the load hears of it.
    this.sending.catch(() => undefined);
  }

  goAt(rate: number): void {
    this.rate = rate;
  }

  /** Resolves when so many more are acknowledged. */
  async more(count: number, patienceMs: number): Promise<void> {
    const wanted = this.acknowledgements.length + count;
    const inTime = await waitUntil(() => this.acknowledgements.length >= wanted, patienceMs);
    if (!inTime) throw new Error(`Waited in vain for ${count} acknowledgements.`);
  }

  /** Resolves when all that was sent is acknowledged, or is given up. */
  async stop(): Promise<void> {
    this.stopping = true;
    await within(stopWithinMs, this.sending, () => {
      this.givenUp = true;
    });
  }

  private async send(index: number): Promise<void> {
    const ward = wards[index % wards.length] ?? "";
    const everyMs = (): number => (1_000 * this.senders) / this.rate;
    let due = performance.now() + (everyMs() * index) / this.senders;
    const line = new SenderLine(this.waysTo(ward), this.ackTimeoutMs);
    try {
      for (let number = 1; ; number += 1) {
        await this.until(due);
        if (this.stopping) return;
        await this.deliver(line, `s${index}`, ward, number);
        due = Math.max(due + everyMs(), performance.now() - longestLagMs);
      }
    } finally {
      this.connects += line.connects;
      line.hangUp();
    }
  }

  private async deliver(line: SenderLine, sender: string, ward: string, number: number): Promise<void> {
    const message = messageOf(sender, ward, number);
    const { controlId } = message;
    const entry = { controlId, inbound: ward, key: sender, goesTo: goesTo(message), sentAt: performance.now() };
    this.sent.set(controlId, { ...entry, ackedAt: null });
    let tries = 1;
    const ended = (kind: SendingEnd["kind"]): void =>
      this.onEnd({
        sender,
        controlId,
        number,
        goesTo: entry.goesTo,
        tries,
        kind,
        tookMs: performance.now() - entry.sentAt,
      });
    for (; !this.givenUp; tries += 1) {
      const code = await line.ask(textOf(message), () => {
        if (tries > 1) this.resends += 1;
      });
      const at = performance.now();
      if (code === `AA ${controlId}`) {
        this.sent.set(controlId, { ...entry, ackedAt: at });
        this.acknowledgements.push({ at, tookMs: at - entry.sentAt, place: line.place });
        ended("acknowledged");
        return;
      }
      if (code?.startsWith("AR")) {
        this.refused.push(`${controlId}: ${code}`);
        ended("refused");
        return;
      }
      line.hangUp();
      await pause(reconnectMs);
    }
    ended("given_up");
  }

  /** In steps, since the load may stop meanwhile. */
  private async until(due: number): Promise<void> {
    while (performance.now() < due && !this.stopping) await pause(Math.min(due - performance.now(), longestStepMs));
  }
}

/** One sender's connection, to whichever of its addresses takes it. */
class SenderLine {
  connects = 0;
  private readonly ways: readonly (Address & { readonly place: number })[];
  private readonly ackTimeoutMs: number;
  private at = 0;
  private open: Sender | null = null;

  constructor(ways: readonly (Address & { readonly place: number })[], ackTimeoutMs: number) {
    this.ways = ways;
    this.ackTimeoutMs = ackTimeoutMs;
  }

  get place(): number {
    return this.ways[this.at]?.place ?? 0;
  }

  /** The code of the acknowledgement; null where there was none. */
  async ask(text: string, written: () => void): Promise<string | null> {
    const sender = this.open ?? (await this.connect());
    if (sender === null) return null;
    this.open = sender;
    written();
    return codeOf(await within(this.ackTimeoutMs, sender.ask(text), () => null));
  }

  /** The next try goes elsewhere. */
  hangUp(): void {
    this.open?.socket.destroy();
    this.open = null;
    this.at = (this.at + 1) % this.ways.length;
  }

  private async connect(): Promise<Sender | null> {
    const way = this.ways[this.at];
    if (way === undefined) return null;
    const over = new AbortController();
    const connecting = Sender.to(way.port, { host: way.host, signal: over.signal }).catch(() => null);
    const sender = await within(connectTimeoutMs, connecting, () => {
      over.abort();
      return null;
    });
    if (sender !== null) this.connects += 1;
    return sender;
  }
}
