import { HoldfastError } from "../errors.js";

/** What an application gives to a queue. */
export interface NewMessage {
  readonly lane: string;
  readonly body: string | Uint8Array;
  /** The same key is taken in once, as long as its message is kept. */
  readonly key?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The first stage by default. */
  readonly stage?: string | undefined;
  /** Not before so long after it was taken in. Meanwhile what is behind it in its lane waits too: the order stays. */
  readonly delayMs?: number | undefined;
}

/** What a handler makes of a message for the next stage; taken in with the same commit that finishes the message. */
export interface Produced extends NewMessage {
  readonly stage: string;
}

/** A message as its handler gets it. Delivery is at least once: (epoch, attempt, key) tell repetitions apart (G5). */
export interface Message {
  readonly queue: string;
  readonly stage: string;
  readonly lane: string;
  readonly position: number;
  readonly key: string | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** 1 for the first. */
  readonly attempt: number;
  /** A leader went down with it, and may have handled it: that attempt does not count. */
  readonly interrupted: boolean;
  readonly epoch: bigint;
  /** When it was taken in, by the database's clock. */
  readonly at: Date;
}

/** What a handler is told beside its message. */
export interface HandlerContext {
  /** Aborted when the time for this message is over, or leadership ends. */
  readonly signal: AbortSignal;
}

/** What is done with the messages of a stage. What it returns is taken in for the next one; what it throws fails the attempt. */
// biome-ignore lint/suspicious/noConfusingVoidType: a handler that produces nothing need not return anything.
export type Handler = (message: Message, context: HandlerContext) => Promise<void | readonly Produced[]>;

const fields: readonly string[] = ["lane", "body", "key", "headers", "stage", "delayMs"] satisfies (keyof NewMessage)[];
const longestDelayMs = 31_536_000_000;
/** Halves of a character, and the zero. */
const cannotBeStored = /[\0\p{Cs}]/u;
const longestName = 200;
const longestKey = 500;
const mostHeaders = 50;
const longestHeaders = 8_192;

/** Refuses what the queue cannot keep, before anything of a batch is taken in. */
export function checkMessage(message: NewMessage, stages: readonly string[], maxBodyBytes: number): void {
  if (typeof message !== "object" || message === null)
    throw invalid("A message must be an object with a lane and a body.");
  const unknown = Object.keys(message).find((field) => !fields.includes(field));
  if (unknown !== undefined) throw invalid(`A message has no field "${unknown}": it has ${fields.join(", ")}.`);
  const { lane, body, key, headers, stage, delayMs } = message;
  if (typeof lane !== "string" || lane === "" || lane.length > longestName || hasControl(lane)) {
    throw invalid(`The lane must be a name of 1 to ${longestName} printable characters.`);
  }
  if (stage !== undefined && !stages.includes(stage)) {
    throw invalid(
      `Stage "${String(stage)}" does not exist: there are ${stages.map((name) => `"${name}"`).join(", ")}.`,
    );
  }
  if (typeof body !== "string" && !(body instanceof Uint8Array)) {
    throw invalid("The body must be a string or bytes; make one of an object with JSON.stringify.");
  }
  const bytes = typeof body === "string" ? Buffer.byteLength(body) : body.byteLength;
  if (bytes > maxBodyBytes) {
    throw new HoldfastError(
      "BODY_TOO_LARGE",
      `The body has ${bytes} bytes, and this queue takes ${maxBodyBytes}: raise maxBodyBytes, or keep it elsewhere.`,
    );
  }
  if (
    key !== undefined &&
    (typeof key !== "string" || key === "" || key.length > longestKey || cannotBeStored.test(key))
  ) {
    throw invalid(`The key must be a text of 1 to ${longestKey} whole characters, none of them zero.`);
  }
  if (headers !== undefined) checkHeaders(headers);
  if (delayMs !== undefined && !(Number.isInteger(delayMs) && delayMs >= 0 && delayMs <= longestDelayMs)) {
    throw invalid(`delayMs must be a whole number of milliseconds, ${longestDelayMs} (a year) at most.`);
  }
}

function checkHeaders(headers: Readonly<Record<string, string>>): void {
  const entries = Object.entries(headers);
  if (entries.length > mostHeaders || entries.some(([, value]) => typeof value !== "string")) {
    throw invalid(`The headers must be texts by name, ${mostHeaders} at most.`);
  }
  const unstorable = entries.some(([name, value]) => cannotBeStored.test(name) || cannotBeStored.test(value));
  if (unstorable || JSON.stringify(headers).length > longestHeaders) {
    throw invalid(`The headers must be ${longestHeaders} whole characters at most in all, none of them zero.`);
  }
}

/** Control characters, and halves of a character: neither can be shown, and the latter cannot be stored. */
function hasControl(text: string): boolean {
  return /[\p{Cc}\p{Cs}]/u.test(text);
}

function invalid(message: string): HoldfastError {
  return new HoldfastError("INVALID_REQUEST", message);
}
