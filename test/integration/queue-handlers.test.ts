import { execFile } from "node:child_process";
import { once } from "node:events";
import { promisify } from "node:util";
import type { Worker } from "node:worker_threads";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { systemClock } from "../../src/election/clock.js";
import type { HandlerResult } from "../../src/queue/handler-result.js";
import type { RunOptions } from "../../src/queue/handler-runner.js";
import type { Message } from "../../src/queue/message.js";
import type { WorkerHandler, WorkerHandlerOptions } from "../../src/queue/worker-handler.js";

// Threads load their script from disk, so this is about what was built.
const built = (file: string): string => new URL(`../../dist/queue/${file}`, import.meta.url).href;
const { runHandler }: typeof import("../../src/queue/handler-runner.js") = await import(built("handler-runner.js"));
const { workerHandler }: typeof import("../../src/queue/worker-handler.js") = await import(built("worker-handler.js"));

const module = new URL("queue-handlers.mjs", import.meta.url);

/** Every thread that was started, in order; one that has ended has the id -1. */
let threads: Worker[];
let handlers: WorkerHandler[];
let term: AbortController;

const noteThread = (worker: Worker) => threads.push(worker);
const alive = (): number => threads.filter(({ threadId }) => threadId !== -1).length;

beforeEach(() => {
  threads = [];
  handlers = [];
  term = new AbortController();
  process.on("worker", noteThread);
});

afterEach(async () => {
  await Promise.all(handlers.map((handler) => handler.dispose()));
  process.off("worker", noteThread);
  if (alive() > 0) throw new Error("threads were left behind");
});

function made(options: WorkerHandlerOptions = {}, from: URL | string = module): WorkerHandler {
  const handler = workerHandler(from, options);
  handlers.push(handler);
  return handler;
}

function run(handler: WorkerHandler, deed: string, options: Partial<RunOptions> = {}): Promise<HandlerResult> {
  const message: Message = {
    queue: "orders",
    stage: "ingress",
    lane: "a",
    position: 1,
    key: null,
    headers: { type: "x" },
    // A view of a larger store, as a driver hands out.
    body: Buffer.concat([Buffer.from(deed), Buffer.alloc(50_000)]).subarray(0, Buffer.byteLength(deed)),
    attempt: 1,
    interrupted: false,
    epoch: 7n,
    at: new Date(0),
  };
  const bounds = { stages: ["ingress", "routed"], maxBodyBytes: 1_000 };
  return runHandler(handler, message, {
    clock: systemClock,
    timeoutMs: 20_000,
    signal: term.signal,
    ...bounds,
    ...options,
  });
}

async function report(handler: WorkerHandler): Promise<Record<string, unknown>> {
  const result = await run(handler, "report");
  return result.kind === "done" ? JSON.parse(String(result.produced[0]?.body)) : result;
}

/** Resolves when a thread has begun with its message. */
async function begun(): Promise<void> {
  const worker = threads.at(-1) ?? ((await once(process, "worker")) as [Worker])[0];
  for (;;) if ((await once(worker, "message"))[0] === "begun") return;
}

describe("a handler in a thread", () => {
  it("gets a copy of the message, and what it produces is a copy too", async () => {
    const handler = made();
    expect(await run(handler, "report")).toMatchObject({
      kind: "done",
      produced: [{ stage: "routed", lane: "a", key: "bigint 1970-01-01T00:00:00.000Z", headers: { type: "x" } }],
    });
    expect(await report(handler)).toMatchObject({ isBuffer: true, stored: "report".length });
  });

  it("may produce bytes, of which only its own are copied", async () => {
    const result = await run(made(), "bytes");
    const body = result.kind === "done" ? result.produced[0]?.body : undefined;
    expect(body).toEqual(new Uint8Array(Buffer.from("xxxxx")));
    expect((body as Uint8Array).buffer.byteLength).toBe(5);
  });

  it("keeps its thread from message to message, also after a failure", async () => {
    const handler = made();
    await run(handler, "throw");
    await run(handler, "garbage");
    expect(await report(handler)).toMatchObject({ handled: 3 });
    expect(threads).toHaveLength(1);
  });

  it.each([
    ["throw", "TypeError: cannot do throw"],
    ["garbage", "the handler returned a value of type number instead of nothing or an array of messages"],
    ["not to be copied", "the handler returned something that cannot be copied out of its thread"],
    ["exit", "the handler ended its own thread with exit code 7"],
    ["throw later", "the handler's thread ended: nobody caught this"],
    ["eat memory", "the handler ran out of memory: it may use 32 MB"],
  ])("that does this: %s, has failed: %s; and the next message is handled", async (deed, error) => {
    const handler = made({ memoryMb: 32 });
    expect(await run(handler, deed)).toEqual({ kind: "failed", error, isFinal: false, stillRunning: null });
    expect(await report(handler)).toMatchObject({ isBuffer: true });
    expect(alive()).toBe(1);
  });

  it("has failed even if what ended its thread was thrown by nobody and is nothing", async () => {
    const code = "export default () => new Promise(() => setImmediate(() => { throw undefined; }))";
    expect(await run(made({}, `data:text/javascript,${code}`), "report")).toMatchObject({
      kind: "failed",
      error: "the handler's thread ended: the handler threw a value of type undefined instead of an error",
    });
  });

  it("runs on as many threads as it may, and each takes the next message when it is free", async () => {
    const handler = made({ threads: 2 });
    const reports = await Promise.all(Array.from({ length: 20 }, () => report(handler)));
    expect(new Set(reports.map(({ threadId }) => threadId)).size).toBe(2);
    expect(threads).toHaveLength(2);
  });

  it("starts no thread before there is a message", () => {
    made({ threads: 4 });
    expect(threads).toHaveLength(0);
  });
});

describe("a handler in a thread that takes too long", () => {
  it.each(["for ever", "wait for ever"])("is ended with its thread: %s", async (deed) => {
    const handler = made({ timeoutMs: 50, graceMs: 10 });
    const error = "the handler took longer than 50 ms";
    expect(await run(handler, deed)).toEqual({ kind: "failed", error, isFinal: false, stillRunning: null });
    expect(alive()).toBe(0);
  });

  it("keeps its thread if it heeds its signal", async () => {
    const handler = made({ timeoutMs: 50, graceMs: 20_000 });
    expect(await run(handler, "wait for the signal")).toMatchObject({
      kind: "failed",
      error: "the handler took longer than 50 ms",
    });
    expect(alive()).toBe(1);
  });

  it("has the queue's limit where it has none of its own", async () => {
    const handler = made();
    const error = "the handler took longer than 60 ms";
    expect(await run(handler, "for ever", { timeoutMs: 60 })).toMatchObject({ kind: "failed", error });
  });

  it("costs those who wait for its thread nothing of their time", async () => {
    const handler = made({ timeoutMs: 700, graceMs: 0 });
    const slow = run(handler, "for ever");
    const waiting = Array.from({ length: 5 }, () => report(handler));
    expect(await slow).toMatchObject({ kind: "failed" });
    for (const { isBuffer } of await Promise.all(waiting)) expect(isBuffer).toBe(true);
    expect(threads).toHaveLength(2);
  });
});

describe("when leadership ends", () => {
  it("a handler in a thread is abandoned at once and ended, though it heeds nothing", async () => {
    const run1 = run(made(), "for ever");
    await begun();
    term.abort();
    const result = await run1;
    expect(result.kind).toBe("abandoned");
    await (result as { readonly stillRunning: Promise<void> }).stillRunning;
    expect(alive()).toBe(0);
  });

  it("those who wait for a thread are abandoned, and the handler serves the next term", async () => {
    const handler = made();
    const results = Promise.all([run(handler, "for ever"), run(handler, "report"), run(handler, "report")]);
    await begun();
    term.abort();
    expect((await results).map(({ kind }) => kind)).toEqual(["abandoned", "abandoned", "abandoned"]);
    term = new AbortController();
    expect(await report(handler)).toMatchObject({ handled: 1 });
  });

  it("while the first thread starts, the thread is kept for the next term", async () => {
    const handler = made();
    const first = run(handler, "report");
    term.abort();
    expect(await first).toEqual({ kind: "abandoned", stillRunning: null });
    term = new AbortController();
    expect(await report(handler)).toMatchObject({ handled: 1 });
    expect(threads).toHaveLength(1);
  });
});

describe("a module", () => {
  it.each([
    ["without a default export", "data:text/javascript,export const x = 1", "its default export is not a function"],
    ["that throws", "data:text/javascript,throw new Error('no database')", "no database"],
    ["that does not parse", "data:text/javascript,export default (", "SyntaxError"],
    ["that imports what is not there", "data:text/javascript,import 'node:nothing'", "node:nothing"],
  ])("%s fails each message with the reason, and leaves no thread", async (_name, url, reason) => {
    const handler = made({}, url);
    for (let attempt = 1; attempt <= 2; attempt++) {
      expect(await run(handler, "report")).toMatchObject({
        kind: "failed",
        error: expect.stringMatching(new RegExp(`^the handler's module cannot be loaded: .*${reason}`)),
      });
    }
    await expect.poll(alive).toBe(0);
  });

  it.each(["await new Promise(() => setInterval(() => 0, 1000))", "for (;;);"])(
    "that never gets done loading is given up: %s",
    async (code) => {
      const handler = made({ startTimeoutMs: 80 }, `data:text/javascript,${code}`);
      expect(await run(handler, "report")).toEqual({
        kind: "failed",
        error: "the handler's module took longer than 80 ms to load",
        isFinal: false,
        stillRunning: null,
      });
    },
  );
});

describe("threads", () => {
  it("start also where the program is a text and no file, and an idle one does not keep it from ending", async () => {
    const program = `
      import { systemClock } from ${JSON.stringify(built("../election/clock.js"))};
      import { runHandler } from ${JSON.stringify(built("handler-runner.js"))};
      import { workerHandler } from ${JSON.stringify(built("worker-handler.js"))};
      const message = { body: Buffer.from("x"), headers: {} };
      const options = { clock: systemClock, timeoutMs: 20_000, signal: new AbortController().signal, stages: ["routed"], maxBodyBytes: 10 };
      const handler = workerHandler("data:text/javascript,export default () => undefined");
      console.log((await runHandler(handler, message, options)).kind);
    `;
    const args = ["--input-type=module", "--eval", program];
    expect((await promisify(execFile)(process.execPath, args, { timeout: 20_000 })).stdout).toBe("done\n");
  });

  it("do not pile up, whatever their handlers do", async () => {
    const handler = made({ threads: 2, timeoutMs: 40, graceMs: 0, memoryMb: 32 });
    const deeds = ["for ever", "exit", "throw later", "wait for ever", "eat memory", "report"];
    let most = 0;
    const watch = () => {
      most = Math.max(most, alive());
    };
    process.on("worker", watch);
    await Promise.all([...deeds, ...deeds, ...deeds].map((deed) => run(handler, deed)));
    process.off("worker", watch);
    expect(most).toBe(2);
    await handler.dispose();
    expect(threads.length).toBeGreaterThan(4);
    expect(alive()).toBe(0);
  });

  it("end when the handler is disposed of, and so do the calls in them and those that wait", async () => {
    const handler = made();
    const calls = [run(handler, "for ever"), run(handler, "report")];
    await begun();
    await handler[Symbol.asyncDispose]();
    expect(alive()).toBe(0);
    const error = "the handler was disposed of, and its threads with it";
    for (const result of await Promise.all([...calls, run(handler, "report")])) {
      expect(result).toEqual({ kind: "failed", error, isFinal: false, stillRunning: null });
    }
    expect(threads).toHaveLength(1);
  });
});
