import type { Clock } from "../election/clock.js";
import { type Carrier, type Consumption, consume, isTracing, spanNames } from "../telemetry/traces.js";
import { atEndOfTerm } from "./end-of-term.js";
import type { HandlerCall, JournalingHandler, RunnableHandler } from "./handler-call.js";
import { failed, type HandlerResult, judged, type Limits, tooLong, tooLongText } from "./handler-result.js";
import { InProcessCall } from "./in-process-call.js";
import type { Message, Produced } from "./message.js";
import type { IntakeBounds } from "./produced.js";

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

/** As long again as its own time, and no longer than this. */
const longestGraceMs = 5_000;
/** How long the end of a call by force is waited for. */
const longestEndMs = 5_000;

/**
 * Runs a handler on one message and turns whatever it does into a value: no handler can throw into the queue, and none can
 * hold it up for ever. Handlers run in this process and on its event loop unless they are made by `workerHandler`.
 */
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
