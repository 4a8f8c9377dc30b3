import { getEventListeners } from "node:events";
import { setImmediate as turn } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type Clock, systemClock } from "../election/clock.js";
import { type HandlerCall, type IsolatedHandler, Journaled } from "./handler-call.js";
import { type RunOptions, runHandler } from "./handler-runner.js";
import type { Handler, HandlerContext, Message } from "./message.js";

const message: Message = {
  queue: "orders",
  stage: "ingress",
  lane: "a",
  position: 1,
  key: null,
  headers: {},
  body: Buffer.from("a body that nobody may see"),
  attempt: 1,
  interrupted: false,
  epoch: 7n,
  at: new Date(0),
};

const idle: Handler = () => Promise.resolve();
const ignore = () => undefined;

/** Fires at once when its time has come, so that the fake timers are all there is. */
const clock: Clock = {
  ...systemClock,
  wakeAt: (mono, fire) => {
    const timer = setTimeout(fire, mono - performance.now());
    return () => clearTimeout(timer);
  },
};

let term: AbortController;
let options: RunOptions;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  term = new AbortController();
  options = {
    clock,
    timeoutMs: 1_000,
    signal: term.signal,
    stages: ["ingress", "routed"],
    maxBodyBytes: 100,
    graceMs: 500,
  };
});

afterEach(() => {
  vi.useRealTimers();
});

/** A call that settles when the test says so. */
function held(): { readonly handler: Handler; readonly settle: PromiseWithResolvers; context: HandlerContext | null } {
  const settle = withResolvers();
  const call: ReturnType<typeof held> = {
    handler: (_message, context) => {
      call.context = context;
      // Asked for at once, as a handler does that passes it on.
      void context.signal;
      return settle.promise;
    },
    settle,
    context: null,
  };
  return call;
}

interface PromiseWithResolvers {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

function withResolvers(): PromiseWithResolvers {
  let settlers: Pick<PromiseWithResolvers, "resolve" | "reject"> | null = null;
  const promise = new Promise<void>((resolve, reject) => {
    settlers = { resolve, reject };
  });
  return { promise, ...settlers! };
}

async function isPending(promise: Promise<unknown>): Promise<boolean> {
  let pending = true;
  const settled = () => {
    pending = false;
  };
  promise.then(settled, settled);
  await turn();
  return pending;
}

describe("a handler", () => {
  it("that returns nothing is done", async () => {
    expect(await runHandler(idle, message, options)).toEqual({ kind: "done", produced: [], journal: null });
  });

  it("of the message engine also says what to write with its commit", async () => {
    const next = { stage: "routed", lane: "b", body: "x" };
    const journal = { steps: [], state: [{ namespace: "n", key: "k", value: 1 }] };
    const journaling = async () => await Promise.resolve(new Journaled([next], journal));
    expect(await runHandler(journaling, message, options)).toEqual({ kind: "done", produced: [next], journal });
    const bad = async () => await Promise.resolve(new Journaled([{ ...next, stage: "nowhere" }], journal));
    expect(await runHandler(bad, message, options)).toMatchObject({ kind: "failed", isFinal: true });
    // What merely looks like it is no message either.
    const alike = async () => await Promise.resolve({ produced: [next], journal } as never);
    expect(await runHandler(alike, message, options)).toMatchObject({ kind: "failed" });
  });

  it("that returns messages has produced them", async () => {
    const next = { stage: "routed", lane: "b", body: "x" };
    expect(await runHandler(async () => [next], message, options)).toEqual({
      kind: "done",
      produced: [next],
      journal: null,
    });
  });

  it("gets the message and a signal that is not aborted", async () => {
    const handler = vi.fn<Handler>(idle);
    await runHandler(handler, message, options);
    expect(handler.mock.calls[0]?.[0]).toBe(message);
    expect(handler.mock.calls[0]?.[1].signal.aborted).toBe(false);
  });

  it("that rejects has failed, with its reason", async () => {
    const handler = async () => {
      throw new Error("no\nroute");
    };
    expect(await runHandler(handler, message, options)).toEqual({
      kind: "failed",
      error: "no route",
      isFinal: false,
      stillRunning: null,
    });
  });

  it("that throws what says so has failed for good", async () => {
    const refused = Object.assign(new Error("not for us"), { retry: false });
    const handler = async () => {
      throw refused;
    };
    expect(await runHandler(handler, message, options)).toMatchObject({ error: "not for us", isFinal: true });
  });

  it("that throws before it returns a promise has failed", async () => {
    const handler = (() => {
      throw new TypeError("x is not a function");
    }) as Handler;
    expect(await runHandler(handler, message, options)).toMatchObject({
      kind: "failed",
      error: "TypeError: x is not a function",
    });
  });

  it("that shows its body in an error does not show it in the reason", async () => {
    const handler = async ({ body }: Message) => {
      throw new Error(`cannot read ${body.toString()} ${"x".repeat(1_000)}`);
    };
    const result = await runHandler(handler, message, options);
    expect(result).toMatchObject({ kind: "failed", error: expect.stringMatching(/^cannot read \[body\] x+\.\.\.$/) });
    expect((result as { readonly error: string }).error).toHaveLength(500);
  });

  it("that returns garbage has failed", async () => {
    const handler = (async () => ({ stage: "routed" })) as unknown as Handler;
    expect(await runHandler(handler, message, options)).toEqual({
      kind: "failed",
      error: "the handler returned a value of type object instead of nothing or an array of messages",
      isFinal: false,
      stillRunning: null,
    });
  });

  it("leaves no timer behind, and is not told of the end of a term that it no longer works for", async () => {
    const signals: AbortSignal[] = [];
    const handler: Handler = async (_message, { signal }) => void signals.push(signal);
    await Promise.all(Array.from({ length: 50 }, () => runHandler(handler, message, options)));
    await runHandler(() => Promise.reject(new Error("no")), message, options);
    expect(vi.getTimerCount()).toBe(0);
    expect(getEventListeners(term.signal, "abort")).toHaveLength(1);
    term.abort();
    expect(signals.filter(({ aborted }) => aborted)).toEqual([]);
    expect(signals).toHaveLength(50);
  });
});

describe("a function that takes too long", () => {
  it("is told so by its signal, and has failed once it has settled", async () => {
    const call = held();
    const run = runHandler(call.handler, message, options);
    vi.advanceTimersByTime(999);
    expect(call.context?.signal.aborted).toBe(false);
    vi.advanceTimersByTime(1);
    expect(call.context?.signal.reason).toMatchObject({
      name: "TimeoutError",
      message: "the handler took longer than 1000 ms",
    });
    expect(await isPending(run)).toBe(true);
    call.settle.resolve();
    expect(await run).toMatchObject({
      kind: "failed",
      error: "the handler took longer than 1000 ms",
      stillRunning: null,
    });
    expect(vi.getTimerCount()).toBe(0);
  });

  it("has failed for its time, not for what its abort made it throw", async () => {
    const handler: Handler = (_message, { signal }) =>
      new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(new Error("aborted"))));
    const run = runHandler(handler, message, options);
    vi.advanceTimersByTime(1_000);
    expect(await run).toMatchObject({ kind: "failed", error: "the handler took longer than 1000 ms" });
  });

  it("is told so even if it asks only then", async () => {
    const late = withResolvers();
    let aborted: boolean | null = null;
    const handler: Handler = async (_message, context) => {
      await late.promise;
      aborted = context.signal.aborted;
    };
    const run = runHandler(handler, message, options);
    vi.advanceTimersByTime(1_000);
    late.resolve();
    await run;
    expect(aborted).toBe(true);
  });

  it("has failed after its grace while it still runs, and the lane is told when it no longer does", async () => {
    const call = held();
    const run = runHandler(call.handler, message, options);
    vi.advanceTimersByTime(1_499);
    expect(await isPending(run)).toBe(true);
    vi.advanceTimersByTime(1);
    const result = await run;
    expect(result).toMatchObject({ kind: "failed", error: "the handler took longer than 1000 ms, and still runs" });
    const { stillRunning } = result as { readonly stillRunning: Promise<void> };
    expect(await isPending(stillRunning)).toBe(true);
    call.settle.reject(new Error("much later"));
    await stillRunning;
  });

  it.each([
    [1_000, 2_000],
    [10_000, 15_000],
  ])("that may take %d ms has as long again for its grace, and five seconds at most", async (timeoutMs, endMs) => {
    const call = held();
    const run = runHandler(call.handler, message, { ...options, timeoutMs, graceMs: undefined });
    vi.advanceTimersByTime(endMs - 1);
    expect(await isPending(run)).toBe(true);
    vi.advanceTimersByTime(1);
    expect(await run).toMatchObject({ kind: "failed" });
  });
});

describe("when leadership ends", () => {
  it("no handler is begun", async () => {
    term.abort();
    const handler = vi.fn<Handler>(idle);
    expect(await runHandler(handler, message, options)).toEqual({ kind: "abandoned", stillRunning: null });
    expect(handler).not.toHaveBeenCalled();
  });

  it("a call under way is told, abandoned at once, and known to run still", async () => {
    const call = held();
    const run = runHandler(call.handler, message, options);
    term.abort(new Error("deposed"));
    const result = await run;
    expect(result.kind).toBe("abandoned");
    expect(call.context?.signal.reason).toMatchObject({ message: "deposed" });
    const { stillRunning } = result as { readonly stillRunning: Promise<void> };
    expect(await isPending(stillRunning)).toBe(true);
    call.settle.resolve();
    await stillRunning;
    expect(vi.getTimerCount()).toBe(0);
  });

  it("a call that may linger succeeds if it ends in time, and is told to end when its time is over", async () => {
    const inTime = held();
    const first = runHandler(inTime.handler, message, { ...options, lingerMs: 100 });
    const tooLate = held();
    const second = runHandler(tooLate.handler, message, { ...options, lingerMs: 100 });
    const failing = held();
    const third = runHandler(failing.handler, message, { ...options, lingerMs: 100 });
    term.abort();
    inTime.settle.resolve();
    failing.settle.reject(new Error("no"));
    expect(await first).toMatchObject({ kind: "done" });
    expect(await third).toEqual({ kind: "abandoned", stillRunning: null });
    vi.advanceTimersByTime(99);
    expect(await isPending(second)).toBe(true);
    vi.advanceTimersByTime(1);
    expect(await second).toMatchObject({ kind: "abandoned", stillRunning: expect.any(Promise) });
    tooLate.settle.resolve();
  });

  it("every call under way is abandoned", async () => {
    const call = held();
    const runs = Array.from({ length: 50 }, () => runHandler(call.handler, message, options));
    term.abort();
    expect((await Promise.all(runs)).filter(({ kind }) => kind === "abandoned")).toHaveLength(50);
  });

  it("a call in its grace is abandoned too, and spends no attempt", async () => {
    const call = held();
    const run = runHandler(call.handler, message, options);
    vi.advanceTimersByTime(1_200);
    term.abort();
    expect(await run).toMatchObject({ kind: "abandoned" });
  });

  it("by the handler itself, what it returned does not count", async () => {
    const handler: Handler = async () => {
      term.abort();
      return [{ stage: "routed", lane: "b", body: "x" }];
    };
    expect(await runHandler(handler, message, options)).toMatchObject({ kind: "abandoned" });
  });
});

describe("a handler that can be ended by force", () => {
  function isolated(call: Partial<HandlerCall>): IsolatedHandler {
    return {
      timeoutMs: 200,
      graceMs: 50,
      begin: async () => ({ settled: new Promise(ignore), abort: ignore, kill: ignore, ...call }),
    };
  }

  it("has its own limits, and has failed when it has really ended", async () => {
    const { promise, reject } = withResolvers();
    const kill = vi.fn<() => void>(() => reject(new Error("ended")));
    const abort = vi.fn<HandlerCall["abort"]>();
    const run = runHandler(isolated({ settled: promise, abort, kill }), message, options);
    await turn();
    vi.advanceTimersByTime(200);
    expect(abort).toHaveBeenCalledOnce();
    expect(kill).not.toHaveBeenCalled();
    vi.advanceTimersByTime(50);
    expect(kill).toHaveBeenCalledOnce();
    expect(await run).toMatchObject({
      kind: "failed",
      error: "the handler took longer than 200 ms",
      stillRunning: null,
    });
  });

  it("has failed while it still runs if even force does not end it", async () => {
    const run = runHandler(isolated({}), message, options);
    await turn();
    vi.advanceTimersByTime(5_250);
    expect(await run).toMatchObject({ kind: "failed", stillRunning: expect.any(Promise) });
  });

  it("is ended when leadership does", async () => {
    const kill = vi.fn<() => void>();
    const run = runHandler(isolated({ kill }), message, options);
    await turn();
    term.abort();
    expect(await run).toMatchObject({ kind: "abandoned", stillRunning: expect.any(Promise) });
    expect(kill).toHaveBeenCalledOnce();
  });

  it("is abandoned if leadership ends before there is room for it", async () => {
    const handler: IsolatedHandler = { ...isolated({}), begin: async () => null };
    expect(await runHandler(handler, message, options)).toEqual({ kind: "abandoned", stillRunning: null });
  });

  it("has failed if it cannot be begun", async () => {
    const handler: IsolatedHandler = { ...isolated({}), begin: () => Promise.reject(new Error("no module")) };
    expect(await runHandler(handler, message, options)).toMatchObject({ kind: "failed", error: "no module" });
  });
});
