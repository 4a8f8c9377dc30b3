import { HoldfastError } from "../errors.js";

/** What can be sent: text, bytes, or whatever gives its own bytes, like an HL7 message. */
export type SendBody = string | Uint8Array | { toBytes(): Uint8Array };

/** What may be said of a message that is sent. */
export interface SendOptions {
  /** Which of the outbound's lanes, in place of what its `lane` says: messages of one key stay in order, others do not wait. */
  readonly key?: string | undefined;
}

/** A wish of a handler: this body to that outbound. Nothing leaves before the handler's result is committed. */
export interface Send<Outbound extends string = string> {
  readonly outbound: Outbound;
  readonly body: Uint8Array;
  readonly key: string | null;
}

const longestKey = 100;

/** Made anew for each call, so that what a handler does to its bytes afterwards changes nothing. */
export function send<const Outbound extends string>(
  outbound: Outbound,
  body: SendBody,
  { key }: SendOptions = {},
): Send<Outbound> {
  if (typeof outbound !== "string") throw invalid("the first argument must be the name of an outbound.");
  if (key !== undefined && (typeof key !== "string" || key === "" || key.length > longestKey || /\p{Cc}/u.test(key))) {
    throw invalid(`the key must be a text of 1 to ${longestKey} printable characters.`);
  }
  return Object.freeze({ outbound, body: bytesOf(body), key: key ?? null });
}

function bytesOf(body: SendBody): Uint8Array {
  if (typeof body === "string") return Buffer.from(body);
  if (body instanceof Uint8Array) return Buffer.from(body);
  if (typeof body === "object" && body !== null && typeof body.toBytes === "function") return body.toBytes();
  throw invalid("the body must be a text, bytes or an HL7 message; make a text of an object with JSON.stringify.");
}

function invalid(message: string): HoldfastError {
  return new HoldfastError("INVALID_REQUEST", `send: ${message}`);
}
