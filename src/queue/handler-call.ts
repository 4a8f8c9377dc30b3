import type { SettledJournal } from "../store/journal.js";
import type { Handler, Message, Produced } from "./message.js";

/** What a stage can be processed by: a function of this process, or a handler that runs elsewhere. */
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
