import type { Clock } from "../election/clock.js";
import { failureReason } from "./core/failure-reason.js";
import { atEndOfTerm } from "./end-of-term.js";
import type { Handler, HandlerContext, Message, Produced } from "./message.js";
import { type IntakeBounds, readProduced } from "./produced.js";

/**
 * Runs a handler on one message and turns whatever it does into a value: no handler can throw into the queue, and none can
 * hold it up for ever.
 *
 * Handlers run in this process and on its event loop unless they are made by `workerHandler`. A function in this process can
 * be told that its time is over, but not be ended. So a result may come with `stillRunning`: the old call is still at work,
 * and the lane must not begin another one until that promise has resolved, or two would work on it at once (G5). The promise
 * never rejects, and may never resolve.
 */
export type HandlerResult =
  | { readonly kind: "done"; readonly produced: readonly Produced[] }
  | { readonly kind: "failed"; readonly error: string; readonly stillRunning: Promise<void> | null }
  /** Leadership ended first: whatever the handler did does not count, and no attempt is spent. */
  | { readonly kind: "abandoned"; readonly stillRunning: Promise<void> | null };

export type RunnableHandler = Handler | IsolatedHandler;

/** A handler that runs elsewhere, where it can be ended by force. */
export interface IsolatedHandler {
  /** Its own limit in place of the queue's; null where it has none. */
  readonly timeoutMs: number | null;
  /** How long it may then take to heed its signal. */
  readonly graceMs: number;
  /** Hands the message over once there is room: waiting for it is not the message's time. Null if the signal came first. */
  begin(message: Message, signal: AbortSignal): Promise<HandlerCall | null>;
}

/** A call that is under way. */
export interface HandlerCall {
  /** What the handler returned; or it rejects, with what it threw or with why there is no answer. */
  readonly settled: Promise<unknown>;
  /** Aborts the signal in the handler's context. */
  abort(reason: unknown): void;
  /** Ends it by force, upon which it settles; null where nothing can. */
  readonly kill: (() => void) | null;
}

export interface RunOptions extends IntakeBounds {
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** The term's: aborted when leadership ends. */
  readonly signal: AbortSignal;
  /** How long after its time a function may take to settle, before the failure is reported while it still runs. */
  readonly graceMs?: number | undefined;
}

interface Limits {
  readonly timeoutMs: number;
  readonly graceMs: number;
}

const defaultGraceMs = 5_000;
/** How long the end of a call by force is waited for. */
const longestEndMs = 5_000;

export async function runHandler(
  handler: RunnableHandler,
  message: Message,
  options: RunOptions,
): Promise<HandlerResult> {
  if (options.signal.aborted) return { kind: "abandoned", stillRunning: null };
  if (typeof handler === "function") {
    const limits = { timeoutMs: options.timeoutMs, graceMs: options.graceMs ?? defaultGraceMs };
    return follow(callInProcess(handler, message), message, limits, options);
  }
  const limits = { timeoutMs: handler.timeoutMs ?? options.timeoutMs, graceMs: handler.graceMs };
  let call: HandlerCall | null;
  try {
    call = await handler.begin(message, options.signal);
  } catch (error) {
    return failed(error, message);
  }
  return call === null ? { kind: "abandoned", stillRunning: null } : follow(call, message, limits, options);
}

/** Waits for the first of: the call settles, its time and grace run out, leadership ends. */
function follow(call: HandlerCall, message: Message, limits: Limits, options: RunOptions): Promise<HandlerResult> {
  const { signal, clock } = options;
  const after = (ms: number, act: () => void) => clock.wakeAt(clock.mono() + ms, act);
  return new Promise((resolve) => {
    let late = false;
    let takeBack: () => void;

    const finish = (result: HandlerResult) => {
      takeBack();
      forget();
      resolve(result);
    };
    const ended = call.settled.then(
      (value) => finish(late ? tooLong(limits, null) : judged(value, options)),
      (error: unknown) => finish(late ? tooLong(limits, null) : failed(error, message)),
    );
    const onTimeout = () => {
      late = true;
      takeBack = after(limits.graceMs, onEndOfGrace);
      call.abort(new DOMException(tooLongText(limits), "TimeoutError"));
    };
    const onEndOfGrace = () => {
      const giveUp = () => finish(tooLong(limits, ended));
      if (call.kill === null) return giveUp();
      // Even a thread can be where nothing ends it at once, as in a blocking call of the system.
      takeBack = after(longestEndMs, giveUp);
      call.kill();
    };
    const onEndOfTerm = () => {
      finish({ kind: "abandoned", stillRunning: ended });
      call.abort(signal.reason);
      call.kill?.();
    };

    takeBack = after(limits.timeoutMs, onTimeout);
    const forget = atEndOfTerm(signal, onEndOfTerm);
    // A handler can end its own term before it first waits for anything.
    if (signal.aborted) onEndOfTerm();
  });
}

function callInProcess(handler: Handler, message: Message): HandlerCall {
  let controller: AbortController | null = null;
  const context: HandlerContext = {
    // Made when it is asked for: most handlers never do, and it costs more than all the rest of a call.
    get signal() {
      controller ??= new AbortController();
      return controller.signal;
    },
  };
  return {
    settled: startedNow(handler, message, context),
    abort: (reason) => {
      controller ??= new AbortController();
      controller.abort(reason);
    },
    kill: null,
  };
}

/** A handler without `async` may throw before there is a promise. */
async function startedNow(handler: Handler, message: Message, context: HandlerContext): Promise<unknown> {
  return handler(message, context);
}

function judged(value: unknown, options: RunOptions): HandlerResult {
  const read = readProduced(value, options);
  if (read.kind === "garbage") return { kind: "failed", error: read.reason, stillRunning: null };
  return { kind: "done", produced: read.produced };
}

function failed(error: unknown, message: Message): HandlerResult {
  return { kind: "failed", error: failureReason(error, message.body.toString()), stillRunning: null };
}

function tooLong(limits: Limits, stillRunning: Promise<void> | null): HandlerResult {
  const error = stillRunning === null ? tooLongText(limits) : `${tooLongText(limits)}, and still runs`;
  return { kind: "failed", error, stillRunning };
}

function tooLongText({ timeoutMs }: Limits): string {
  return `the handler took longer than ${timeoutMs} ms`;
}
