import type { Clock } from "../election/clock.js";
import type { SettledJournal } from "../store/journal.js";
import { type Carrier, type Consumption, consume, isTracing, spanNames } from "../telemetry/traces.js";
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
  | { readonly kind: "done"; readonly produced: readonly Produced[]; readonly journal: SettledJournal | null }
  | {
      readonly kind: "failed";
      readonly error: string;
      /** What was thrown says that no further attempt would help (`retry: false`). */
      readonly isFinal: boolean;
      /** What was thrown says that no attempt before this would help (`retryAfterMs`). */
      readonly retryAfterMs?: number | undefined;
      readonly stillRunning: Promise<void> | null;
    }
  /** Leadership ended first: whatever the handler did does not count, and no attempt is spent. */
  | { readonly kind: "abandoned"; readonly stillRunning: Promise<void> | null };

export type RunnableHandler = Handler | IsolatedHandler;

/** A handler of the message engine: what it has to tell is written with the commit that finishes its message. */
export type JournalingHandler = (...given: Parameters<Handler>) => Promise<Journaled | Awaited<ReturnType<Handler>>>;

/** What such a handler returns. A class, so that no other handler returns it by mistake. */
export class Journaled {
  readonly produced: readonly Produced[];
  readonly journal: SettledJournal;

  constructor(produced: readonly Produced[], journal: SettledJournal) {
    this.produced = produced;
    this.journal = journal;
  }
}

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
  /** How long after the end of the term what was begun may still succeed, before it is told to end. Not at all by default. */
  readonly lingerMs?: number | undefined;
}

interface Limits {
  readonly timeoutMs: number;
  readonly graceMs: number;
}

/** As long again as its own time, and no longer than this. */
const longestGraceMs = 5_000;
const longestRetryAfterMs = 86_400_000;
/** How long the end of a call by force is waited for. */
const longestEndMs = 5_000;

/** Runs one message alone. */
export async function runHandler(
  handler: RunnableHandler | JournalingHandler,
  message: Message,
  options: RunOptions,
): Promise<HandlerResult> {
  const seat = new HandlerSeat(options);
  try {
    return await seat.run(handler, message);
  } finally {
    seat.leave();
  }
}

/** A call that is waited for. */
interface Watched {
  readonly call: HandlerCall;
  readonly message: Message;
  readonly limits: Limits;
  readonly resolve: (result: HandlerResult) => void;
  /** When it has settled, whatever of it. */
  ended: Promise<void>;
  /** What happens when the time is over: the first time the call is told, the second time it is ended, then it is left. */
  phase: "in time" | "late" | "ending";
  deadline: number;
}

/**
 * Where messages are handled one after another. One timer and one look at the term's end serve for all of them: thousands go
 * through in a second, and for most of them the time is never over.
 */
export class HandlerSeat {
  private readonly options: RunOptions;
  private readonly unwatch: () => void;
  private watched: Watched | null = null;
  private isEnding = false;
  private wakeAt = Number.POSITIVE_INFINITY;
  private takeBack: () => void = () => undefined;

  constructor(options: RunOptions) {
    this.options = options;
    this.unwatch = atEndOfTerm(options.signal, () => this.onEndOfTerm());
  }

  /** No message comes any more. */
  leave(): void {
    this.takeBack();
    this.unwatch();
  }

  /** One at a time: the next only after the last has its result, and has ended. */
  run(handler: RunnableHandler | JournalingHandler, message: Message): Promise<HandlerResult> {
    const span = consumed(message);
    return span === null ? this.attend(handler, message) : this.attendWithin(span, handler, message);
  }

  private async attendWithin(
    span: Consumption,
    handler: RunnableHandler | JournalingHandler,
    message: Message,
  ): Promise<HandlerResult> {
    const result = await span.within(() => this.attend(handler, message));
    span.end(result.kind === "failed" ? "the handler failed" : null);
    return result.kind === "done" ? { ...result, produced: carrying(result.produced, span.carrier) } : result;
  }

  private async attend(handler: RunnableHandler | JournalingHandler, message: Message): Promise<HandlerResult> {
    const { options } = this;
    if (options.signal.aborted) return { kind: "abandoned", stillRunning: null };
    if (typeof handler === "function") {
      const graceMs = options.graceMs ?? Math.min(options.timeoutMs, longestGraceMs);
      const limits = { timeoutMs: options.timeoutMs, graceMs };
      return await this.follow(new InProcessCall(handler, message), message, limits);
    }
    const limits = { timeoutMs: handler.timeoutMs ?? options.timeoutMs, graceMs: handler.graceMs };
    let call: HandlerCall | null;
    try {
      call = await handler.begin(message, options.signal);
    } catch (error) {
      return failed(error, message);
    }
    return call === null ? { kind: "abandoned", stillRunning: null } : await this.follow(call, message, limits);
  }

  /** Waits for the first of: the call settles, its time and grace run out, leadership ends. */
  private follow(call: HandlerCall, message: Message, limits: Limits): Promise<HandlerResult> {
    const { options } = this;
    return new Promise((resolve) => {
      const deadline = options.clock.mono() + limits.timeoutMs;
      const ended = call.settled.then(
        (value) => this.settled(watched, () => judged(value, options)),
        (error: unknown) => this.settled(watched, () => failed(error, message)),
      );
      const watched: Watched = { call, message, limits, resolve, ended, phase: "in time", deadline };
      this.watched = watched;
      this.wake(deadline);
      // A handler can end its own term before it first waits for anything.
      if (options.signal.aborted) this.onEndOfTerm();
    });
  }

  private settled(watched: Watched, result: () => HandlerResult): void {
    if (this.watched !== watched) return;
    const settled = watched.phase === "in time" ? result() : tooLong(watched.limits, null);
    // What fails because all is ending has cost no attempt.
    const isAbandoned = this.isEnding && settled.kind === "failed";
    this.finish(watched, isAbandoned ? { kind: "abandoned", stillRunning: null } : settled);
  }

  private finish(watched: Watched, result: HandlerResult): void {
    this.watched = null;
    watched.resolve(result);
  }

  /** A timer that is set for an earlier message stays: it looks again when it fires. */
  private wake(at: number): void {
    if (this.wakeAt <= at) return;
    this.takeBack();
    this.wakeAt = at;
    this.takeBack = this.options.clock.wakeAt(at, () => {
      this.wakeAt = Number.POSITIVE_INFINITY;
      this.onTime();
    });
  }

  private onTime(): void {
    const { watched } = this;
    if (watched === null) return;
    const now = this.options.clock.mono();
    if (now >= watched.deadline) this.onDeadline(watched, now);
    if (this.watched !== null) this.wake(watched.deadline);
  }

  private onDeadline(watched: Watched, now: number): void {
    const { call, limits, ended } = watched;
    if (this.isEnding) {
      this.abandon(watched);
    } else if (watched.phase === "in time") {
      watched.phase = "late";
      watched.deadline = now + limits.graceMs;
      call.abort(new DOMException(tooLongText(limits), "TimeoutError"));
    } else if (watched.phase === "late" && call.kill !== null) {
      // Even a thread can be where nothing ends it at once, as in a blocking call of the system.
      watched.phase = "ending";
      watched.deadline = now + longestEndMs;
      call.kill();
    } else {
      this.finish(watched, tooLong(limits, ended));
    }
  }

  private onEndOfTerm(): void {
    const { watched } = this;
    const { lingerMs = 0, clock } = this.options;
    this.isEnding = true;
    if (watched === null) return;
    if (lingerMs === 0 || watched.phase !== "in time") return this.abandon(watched);
    watched.deadline = Math.min(watched.deadline, clock.mono() + lingerMs);
    this.wake(watched.deadline);
  }

  private abandon(watched: Watched): void {
    const { call, ended } = watched;
    this.finish(watched, { kind: "abandoned", stillRunning: ended });
    call.abort(this.options.signal.reason);
    call.kill?.();
  }
}

/** Neither its lane nor its key: either may be somebody's name. */
function consumed({ headers, queue, stage, position, attempt, epoch }: Message): Consumption | null {
  if (!isTracing()) return null;
  return consume(spanNames.deliver, headers, {
    "holdfast.queue": queue,
    "holdfast.stage": stage,
    "holdfast.position": position,
    "holdfast.attempt": attempt,
    "holdfast.epoch": Number(epoch),
  });
}

const carrying = (produced: readonly Produced[], carrier: Carrier): readonly Produced[] =>
  produced.map((message) => ({ ...message, headers: { ...message.headers, ...carrier } }));

class InProcessCall implements HandlerCall {
  readonly settled: Promise<unknown>;
  readonly kill = null;
  private readonly context = new InProcessContext();

  constructor(handler: Handler | JournalingHandler, message: Message) {
    this.settled = startedNow(handler, message, this.context);
  }

  abort(reason: unknown): void {
    InProcessContext.abort(this.context, reason);
  }
}

class InProcessContext implements HandlerContext {
  #controller: AbortController | null = null;

  /** Made when it is asked for: most handlers never do, and it costs more than all the rest of a call. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    return this.#controller.signal;
  }

  static abort(context: InProcessContext, reason: unknown): void {
    context.#controller ??= new AbortController();
    context.#controller.abort(reason);
  }
}

/** A handler without `async` may throw before there is a promise. */
async function startedNow(
  handler: Handler | JournalingHandler,
  message: Message,
  context: HandlerContext,
): Promise<unknown> {
  return handler(message, context);
}

function judged(value: unknown, options: RunOptions): HandlerResult {
  const journaled = value instanceof Journaled ? value : null;
  const read = readProduced(journaled === null ? value : journaled.produced, options);
  if (read.kind === "garbage") {
    // What modules of the engine return is a function of the message: it would be the same again, and hold its lane for ever.
    return { kind: "failed", error: read.reason, isFinal: journaled !== null, stillRunning: null };
  }
  return { kind: "done", produced: read.produced, journal: journaled?.journal ?? null };
}

function failed(error: unknown, message: Message): HandlerResult {
  const isFinal = typeof error === "object" && error !== null && "retry" in error && error.retry === false;
  const told = { error: failureReason(error, message.body.toString()), isFinal, retryAfterMs: retryAfterOf(error) };
  return { kind: "failed", ...told, stillRunning: null };
}

function retryAfterOf(error: unknown): number | undefined {
  if (typeof error !== "object" || error === null || !("retryAfterMs" in error)) return undefined;
  const { retryAfterMs: ms } = error;
  return typeof ms === "number" && ms > 0 && ms <= longestRetryAfterMs ? ms : undefined;
}

function tooLong(limits: Limits, stillRunning: Promise<void> | null): HandlerResult {
  const error = stillRunning === null ? tooLongText(limits) : `${tooLongText(limits)}, and still runs`;
  return { kind: "failed", error, isFinal: false, stillRunning };
}

function tooLongText({ timeoutMs }: Limits): string {
  return `the handler took longer than ${timeoutMs} ms`;
}
