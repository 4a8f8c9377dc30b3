import { HoldfastError } from "../errors.js";
import type { Message } from "../queue/message.js";
import { charsetOf } from "./charset.js";
import { peekHeader } from "./core/hl7/header.js";
import { Hl7Message } from "./core/hl7/message.js";
import type { EngineMessage, MessageFormat } from "./engine-message.js";

/** The headers that a message of the engine's queue carries from stage to stage. */
export const carried = {
  id: "id",
  connection: "connection",
  format: "format",
  charset: "charset",
  type: "type",
  controlId: "control_id",
  receivedAt: "received_at",
  malformed: "malformed",
  /** The one outbound that it is sent to again. */
  only: "only",
} as const;

/** What can be told of a body without reading all of it. */
export interface Description {
  readonly type: string;
  readonly controlId: string;
  readonly malformed: string | null;
}

const undescribed: Description = { type: "", controlId: "", malformed: null };

/** Never throws. */
export function describe(body: Uint8Array, format: MessageFormat, charset: string | undefined): Description {
  if (format === "raw") return undescribed;
  const peeked = peekHeader(body, { charsetOf: (declared) => charsetOf(declared, charset) });
  const { type = "", controlId = "" } = peeked.header ?? {};
  return {
    type: told(type),
    controlId: told(controlId),
    malformed: peeked.kind === "malformed" ? peeked.reason : null,
  };
}

const longestTold = 199;

/** What is malformed may hold anything there, and is kept all the same. */
function told(text: string): string {
  return text.slice(0, longestTold).replace(/[\p{Cc}\p{Cs}]/gu, "\uFFFD");
}

/** A message as routers and handlers see it; what they do not ask for is not read. */
export class SeenMessage implements EngineMessage {
  readonly id: string;
  readonly connection: string;
  readonly format: MessageFormat;
  readonly type: string;
  readonly controlId: string;
  readonly receivedAt: Date;
  readonly body: Buffer;
  readonly headers: Readonly<Record<string, string>>;
  readonly malformed: string | null;
  private read: Hl7Message | null = null;

  constructor(body: Buffer, headers: Readonly<Record<string, string>>) {
    this.body = body;
    this.headers = headers;
    this.id = headers[carried.id] ?? "";
    this.connection = headers[carried.connection] ?? "";
    this.format = headers[carried.format] === "raw" ? "raw" : "hl7v2";
    this.type = headers[carried.type] ?? "";
    this.controlId = headers[carried.controlId] ?? "";
    this.receivedAt = new Date(Number(headers[carried.receivedAt] ?? 0));
    this.malformed = headers[carried.malformed] ?? null;
  }

  static of({ body, headers }: Pick<Message, "body" | "headers">): SeenMessage {
    return new SeenMessage(body, headers);
  }

  /** The same message with another body, as it is about to be sent. */
  with(body: Buffer): SeenMessage {
    const { type, controlId } = describe(body, this.format, this.headers[carried.charset]);
    return new SeenMessage(body, { ...this.headers, [carried.type]: type, [carried.controlId]: controlId });
  }

  // Getters, so that both work when they are taken apart from the message; bound ones of its own would double what a message costs.
  get text(): () => string {
    return () => this.decode();
  }

  get hl7(): () => Hl7Message {
    return () => this.parse();
  }

  private decode(): string {
    if (this.format === "raw") return this.charset("").decode(this.body);
    const peeked = peekHeader(this.body, { charsetOf: (declared) => this.charset(declared) });
    return this.charset(peeked.header?.charset ?? "").decode(this.body);
  }

  private parse(): Hl7Message {
    if (this.read !== null) return this.read;
    if (this.format === "raw") {
      throw unreadable(`connection "${this.connection}" takes its messages as they are (format: "raw")`);
    }
    const result = Hl7Message.read(this.body, { charsetOf: (declared) => this.charset(declared) });
    if (result.kind === "malformed") throw unreadable(result.reason);
    this.read = result.message;
    return result.message;
  }

  private charset(declared: string) {
    return charsetOf(declared, this.headers[carried.charset]);
  }
}

function unreadable(reason: string): HoldfastError {
  return new HoldfastError("INVALID_REQUEST", `The message cannot be read as HL7: ${reason}`);
}
