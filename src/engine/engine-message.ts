import type { Hl7Message } from "./core/hl7/message.js";

/** What is "raw" is not looked into. */
export type MessageFormat = "hl7v2" | "raw";

/** A message as routers and handlers see it. Its body stays as it came; what is sent on is made anew. */
export interface EngineMessage {
  readonly id: string;
  /** The inbound that took it in. */
  readonly connection: string;
  readonly format: MessageFormat;
  /** Of HL7 messages "ADT^A01", else "". */
  readonly type: string;
  readonly controlId: string;
  readonly receivedAt: Date;
  readonly body: Buffer;
  readonly headers: Readonly<Record<string, string>>;
  /** Why it cannot be read as its format; null where it can. */
  readonly malformed: string | null;
  /** The body in its charset. */
  readonly text: () => string;
  /** The body to read and to change; throws where it is malformed, or no HL7 at all. */
  readonly hl7: () => Hl7Message;
}
