/**
 * The script of a handler's thread (see worker-handler.ts, which starts it): imports the application's module and runs its
 * default export on one message at a time. Everything that crosses is a copy.
 */
import { parentPort, workerData } from "node:worker_threads";
import { invariant } from "../errors.js";
import { failureReason } from "./core/failure-reason.js";
import type { Handler, Message } from "./message.js";

export interface ThreadData {
  /** The URL of the application's module. */
  readonly module: string;
}

export type ThreadOrder =
  | { readonly kind: "call"; readonly message: CopiedMessage }
  /** The time of the message is over. */
  | { readonly kind: "abort"; readonly reason: string };

/** Bytes arrive as a plain array, whatever they were. */
export type CopiedMessage = Omit<Message, "body"> & { readonly body: Uint8Array<ArrayBuffer> };

export type ThreadReply =
  | { readonly kind: "ready" }
  /** The module is of no use: no message will ever be handled here. */
  | { readonly kind: "unusable"; readonly error: string }
  | { readonly kind: "returned"; readonly value: unknown }
  | { readonly kind: "threw"; readonly error: string };

invariant(parentPort !== null, "a handler's thread was started as a program of its own.");
const port = parentPort;
let running: AbortController | null = null;

try {
  const handler = await importHandler(workerData as ThreadData);
  port.on("message", (order: ThreadOrder) => {
    if (order.kind === "abort") running?.abort(new DOMException(order.reason, "TimeoutError"));
    else void handle(handler, order.message);
  });
  reply({ kind: "ready" });
} catch (error) {
  reply({ kind: "unusable", error: failureReason(error, "") });
}

async function importHandler({ module }: ThreadData): Promise<Handler> {
  const imported = (await import(module)) as { readonly default?: unknown };
  if (typeof imported.default === "function") return imported.default as Handler;
  throw new Error("its default export is not a function");
}

async function handle(handler: Handler, copy: CopiedMessage): Promise<void> {
  const body = Buffer.from(copy.body.buffer, copy.body.byteOffset, copy.body.byteLength);
  running = new AbortController();
  reply(await outcomeOf(handler, { ...copy, body }, running.signal));
}

async function outcomeOf(handler: Handler, message: Message, signal: AbortSignal): Promise<ThreadReply> {
  try {
    return { kind: "returned", value: bare(await handler(message, { signal })) };
  } catch (error) {
    return { kind: "threw", error: failureReason(error, message.body.toString()) };
  }
}

/** Only what a produced message consists of, and of bytes only its own: a Buffer is often a view of a much larger store. */
function bare(value: unknown): unknown {
  if (!Array.isArray(value)) return value;
  return Array.from(value as readonly unknown[], (item) => {
    if (typeof item !== "object" || item === null) return item;
    const { stage, lane, body, key, headers } = item as Record<string, unknown>;
    return { stage, lane, body: body instanceof Uint8Array ? new Uint8Array(body) : body, key, headers };
  });
}

function reply(answer: ThreadReply): void {
  try {
    port.postMessage(answer);
  } catch {
    const error = "the handler returned something that cannot be copied out of its thread";
    port.postMessage({ kind: "threw", error } satisfies ThreadReply);
  }
}
