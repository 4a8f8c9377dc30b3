import { createHash } from "node:crypto";
import { type ErrorCode, HoldfastError } from "../errors.js";
import type { Queue } from "../queue/queue.js";
import type { EngineBook, IdRange } from "../store/engine-contract.js";
import { stages } from "./core/lane-names.js";
import type { InboundDefinition } from "./definition.js";
import { isResend } from "./resend.js";
import { carried, type Description, describe } from "./seen-message.js";
import type { Accepted, Arrival, Receipt } from "./transports/transport.js";

export interface TakingInParts {
  readonly queue: Pick<Queue, "enqueueRecorded">;
  readonly book: Pick<EngineBook, "ackOf" | "bodyOf">;
  /** Milliseconds since 1970, for what is told to people; no decision rests on it. */
  readonly now: () => number;
  /** A sender has given a control id to two messages: both are taken in, and somebody should tell it. */
  readonly reused: (connection: string, controlId: string) => void;
}

/** Which message is taken in again, and for which outbound alone. */
export interface Replayed {
  readonly of: string;
  readonly only: string | null;
}

interface Place {
  readonly lane: number;
  readonly position: number;
}

/** What no later try would change. */
const lasting: ReadonlySet<ErrorCode> = new Set<ErrorCode>(["INVALID_REQUEST", "BODY_TOO_LARGE"]);

/** Takes arrivals in, on behalf of all sources. Each is committed, with its line of the journal, before anybody hears that it was. */
export class TakingIn {
  private readonly parts: TakingInParts;
  private ids: IdRange = { next: 0, end: 0 };
  private wanting: () => void = () => undefined;

  constructor(parts: TakingInParts) {
    this.parts = parts;
  }

  /** The ids that can be given from now on. `wanting` is called when they come to an end. */
  number(ids: IdRange, wanting: () => void): void {
    this.ids = ids;
    this.wanting = wanting;
  }

  /** Never rejects. */
  async accept(
    inbound: InboundDefinition,
    arrival: Arrival,
    ack: (receipt: Receipt) => Buffer | null,
    replay: Replayed | null = null,
  ): Promise<Receipt> {
    const { format = "hl7v2", charset } = inbound;
    const described = describe(arrival.body, format, charset);
    const key = replay === null ? keyOf(inbound, arrival, described) : undefined;
    let accepted: Accepted | null = null;
    const record = () => {
      const id = this.nextId();
      const receipt: Accepted = {
        kind: "accepted",
        id: String(id),
        duplicate: false,
        malformed: described.malformed,
        ack: null,
      };
      accepted = { ...receipt, ack: answerOf(ack, receipt) };
      return {
        line: {
          id,
          connection: inbound.name,
          type: described.type,
          controlId: described.controlId,
          ack: accepted.ack,
          replayOf: replay === null ? null : Number(replay.of),
        },
        headers: { [carried.id]: String(id) },
      };
    };
    const message = {
      stage: stages.ingress,
      lane: inbound.name,
      body: arrival.body,
      headers: { ...this.headersOf(inbound, arrival, described), ...onlyTo(replay) },
    };
    const enqueue = async (known: string | undefined) =>
      await this.parts.queue.enqueueRecorded({ ...message, ...(known === undefined ? {} : { key: known }) }, record);
    try {
      let place = await enqueue(key);
      if (place.duplicate && arrival.key === undefined && (await this.isAnother(place, arrival.body))) {
        this.parts.reused(inbound.name, described.controlId);
        place = await enqueue(nameOf(inbound, `${described.controlId} ${digestOf(arrival.body)}`));
      }
      if (place.duplicate) return await this.answeredBefore(place, described);
      return accepted ?? refused("it was given no number", true);
    } catch (error) {
      if (error instanceof HoldfastError) return refused(error.message, !lasting.has(error.code));
      return refused(String(error), true);
    }
  }

  /**
   * Of the same control id, and not the same message: answered as the first was, it would be acknowledged and lost. So it counts
   * as another, too, where the first is kept no more and nobody can tell.
   */
  private async isAnother(place: Place, body: Buffer): Promise<boolean> {
    const { book } = this.parts;
    const first = await book.ackOf(place);
    const known = first === null ? null : await book.bodyOf(first.id);
    return known === null || !isResend(known, body);
  }

  private async answeredBefore(place: Place, { malformed }: Description): Promise<Receipt> {
    const first = await this.parts.book.ackOf(place);
    return { kind: "accepted", id: first?.id ?? "", duplicate: true, malformed, ack: first?.ack ?? null };
  }

  private headersOf(inbound: InboundDefinition, arrival: Arrival, { type, controlId, malformed }: Description) {
    return {
      ...outsidersOf(arrival),
      [carried.connection]: inbound.name,
      [carried.format]: inbound.format ?? "hl7v2",
      [carried.type]: type,
      [carried.controlId]: controlId,
      [carried.receivedAt]: String(this.parts.now()),
      ...(inbound.charset === undefined ? {} : { [carried.charset]: inbound.charset }),
      ...(malformed === null ? {} : { [carried.malformed]: malformed }),
    };
  }

  private nextId(): number {
    const { next, end } = this.ids;
    if (next >= end) {
      this.wanting();
      throw new HoldfastError("TOO_BUSY", "The journal is opening its next partition: try again.");
    }
    this.ids = { next: next + 1, end };
    // Asked for in good time, so that nobody has to wait for it.
    if (end - next === Math.min(askAt, end)) this.wanting();
    return next;
  }
}

const askAt = 50_000;

const ours: ReadonlySet<string> = new Set(Object.values(carried));

/** Nobody outside sets what only the engine may. */
function outsidersOf({ headers = {} }: Arrival): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !ours.has(name.toLowerCase())));
}

function onlyTo(replay: Replayed | null): Readonly<Record<string, string>> {
  return replay === null || replay.only === null ? {} : { [carried.only]: replay.only };
}

/**
 * What its transport knows it by, such as a file's, always counts: a crash between the commit and the move of a file would take
 * it in twice. Else a resend has the same control id; what cannot be read has none that could be trusted.
 */
function keyOf(
  inbound: InboundDefinition,
  { key }: Arrival,
  { controlId, malformed }: Description,
): string | undefined {
  if (key !== undefined) return nameOf(inbound, key);
  const isKnown = inbound.duplicates !== "accept" && malformed === null && controlId !== "";
  return isKnown ? nameOf(inbound, controlId) : undefined;
}

function nameOf({ name }: InboundDefinition, key: string): string {
  const whole = `${name}/${key}`;
  return whole.length <= longestKey ? whole : `${name}/${digestOf(key)}`;
}

function digestOf(text: string | Buffer): string {
  return createHash("sha256").update(text).digest("hex");
}

const longestKey = 500;

/** An answer that cannot be built is its own connection's trouble, and not that of all who are committed together. */
function answerOf(ack: (receipt: Receipt) => Buffer | null, receipt: Receipt): Buffer | null {
  try {
    return ack(receipt);
  } catch {
    return null;
  }
}

function refused(reason: string, retry: boolean): Receipt {
  return { kind: "refused", reason, retry };
}
