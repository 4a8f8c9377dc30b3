// The handler of queue-handlers.test.ts. It runs in threads, and does what the body of its message says.
import { parentPort, threadId } from "node:worker_threads";

let handled = 0;

const deeds = {
  report: (message) => [
    {
      stage: "routed",
      lane: message.lane,
      body: JSON.stringify({
        threadId,
        handled,
        isBuffer: Buffer.isBuffer(message.body),
        stored: message.body.buffer.byteLength,
      }),
      key: `${typeof message.epoch} ${message.at.toISOString()}`,
      headers: message.headers,
    },
  ],
  // A view of a store that is larger, and a field that cannot be copied.
  bytes: () => [
    { stage: "routed", lane: "b", body: Buffer.alloc(100_000, "x").subarray(0, 5), extra: () => undefined },
  ],
  throw: (message) => {
    throw new TypeError(`cannot do ${message.body}`);
  },
  garbage: () => 42,
  "not to be copied": () => () => undefined,
  "for ever": () => {
    for (;;);
  },
  "wait for ever": () => new Promise(() => setInterval(() => undefined, 1_000)),
  "wait for the signal": (_message, { signal }) =>
    new Promise((resolve) => signal.addEventListener("abort", () => resolve([]))),
  // Small pieces: V8 ends a thread for these, and the whole process for a single one that is large.
  "eat memory": () => {
    const eaten = [];
    for (;;) eaten.push(Array.from({ length: 1_000 }, Math.random));
  },
  exit: () => process.exit(7),
  "throw later": () => new Promise(() => setImmediate(() => void Promise.reject(new Error("nobody caught this")))),
};

// biome-ignore lint/style/noDefaultExport: it is what a module for a handler's thread has.
export default async function handler(message, context) {
  handled += 1;
  // Heard by the test alone.
  parentPort.postMessage("begun");
  return deeds[message.body.toString()](message, context);
}
