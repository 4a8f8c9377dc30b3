import type { HandlerCall, JournalingHandler } from "./handler-call.js";
import type { Handler, HandlerContext, Message } from "./message.js";

/** A call of a function in this process: it can be told to end, and nothing can end it. */
export class InProcessCall implements HandlerCall {
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
