import { existsSync } from "node:fs";
import { isAbsolute } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { HoldfastError } from "../errors.js";
import { atEndOfTerm } from "./end-of-term.js";
import type { HandlerCall, IsolatedHandler } from "./handler-call.js";
import type { Message } from "./message.js";
import { WorkerThread, type WorkerThreadOptions } from "./worker-thread.js";

export interface WorkerHandlerOptions {
  /** How long a message may take, once a thread has it. The queue's `handlerTimeoutMs` by default. */
  readonly timeoutMs?: number | undefined;
  /** How long a handler may then take to heed its signal, before its thread is ended. 100 by default. */
  readonly graceMs?: number | undefined;
  /** How large the heap of a thread may become. 128 by default. */
  readonly memoryMb?: number | undefined;
  /** How many messages are handled at the same time, of different lanes. 1 by default. */
  readonly threads?: number | undefined;
  /** How long the module may take to load in a new thread. 30 s by default. */
  readonly startTimeoutMs?: number | undefined;
}

/** Threads that run one handler. They are started when there is something to do, and kept until `dispose`. */
export interface WorkerHandler extends IsolatedHandler, AsyncDisposable {
  /** Ends every thread; calls under way fail. Resolves when all have ended. */
  dispose(): Promise<void>;
}

/**
 * A handler that runs in threads of its own: `queue.process("ingress", workerHandler(new URL("./handler.js", import.meta.url)))`.
 * The module's default export is the handler. Handlers run in the process itself, on its event loop, unless this is used.
 *
 * It guarantees that a handler which loops, blocks or hangs is ended when its time or the leader's term is over; that one
 * whose heap grows over its limit fails alone, and the next message gets a new thread; and that messages and what they
 * produce are copied, so that nothing is shared.
 *
 * It does not guarantee that no handler can exhaust the process: the limit is V8's, on the heap of a thread. Bytes in Buffers
 * lie outside of it. And a single allocation that goes more than 16 MB beyond it (an array or a Map with millions of entries
 * that grows at once) makes V8 end the whole process. Such a message fells the leader, its crashes are counted, and after
 * `maxReclaims` it is put aside.
 */
export function workerHandler(module: URL | string, options: WorkerHandlerOptions = {}): WorkerHandler {
  return new ThreadPool(hrefOf(module), {
    timeoutMs: options.timeoutMs === undefined ? null : within("timeoutMs", options.timeoutMs, 1, day),
    graceMs: within("graceMs", options.graceMs ?? 100, 0, day),
    memoryMb: within("memoryMb", options.memoryMb ?? 128, 16, 65_536),
    threads: within("threads", options.threads ?? 1, 1, 256),
    startTimeoutMs: within("startTimeoutMs", options.startTimeoutMs ?? 30_000, 1, day),
  });
}

interface PoolSettings {
  readonly timeoutMs: number | null;
  readonly graceMs: number;
  readonly memoryMb: number;
  readonly threads: number;
  readonly startTimeoutMs: number;
}

/** A message that waits for a thread. */
interface Applicant {
  readonly give: (thread: WorkerThread) => void;
  readonly refuse: (failure: Error) => void;
}

class ThreadPool implements WorkerHandler {
  readonly timeoutMs: number | null;
  readonly graceMs: number;
  private readonly most: number;
  private readonly threadOptions: WorkerThreadOptions;
  private readonly threads = new Set<WorkerThread>();
  private readonly idle = new Set<WorkerThread>();
  private readonly applicants = new Set<Applicant>();
  private readonly onEmpty: (() => void)[] = [];
  private disposed = false;

  constructor(module: string, settings: PoolSettings) {
    const { timeoutMs, graceMs, memoryMb, threads, startTimeoutMs } = settings;
    this.timeoutMs = timeoutMs;
    this.graceMs = graceMs;
    this.most = threads;
    this.threadOptions = { module, memoryMb, startTimeoutMs };
  }

  async begin(message: Message, signal: AbortSignal): Promise<HandlerCall | null> {
    const thread = await this.take(signal);
    if (thread === null) return null;
    const putBack = () => this.putBack(thread);
    try {
      const call = thread.call(message);
      call.settled.then(putBack, putBack);
      return call;
    } catch (error) {
      putBack();
      throw error;
    }
  }

  async dispose(): Promise<void> {
    this.disposed = true;
    for (const applicant of this.applicants) applicant.refuse(new Error(closedText));
    this.applicants.clear();
    for (const thread of this.threads) thread.end(closedText);
    if (this.threads.size > 0) await new Promise<void>((resolve) => this.onEmpty.push(resolve));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }

  /** A thread for the one who asks, in the order of asking; null once the signal is aborted. */
  private take(signal: AbortSignal): Promise<WorkerThread | null> {
    return new Promise((resolve, reject) => {
      if (this.disposed) return reject(new Error(closedText));
      if (signal.aborted) return resolve(null);
      let gone = false;
      const leave = () => {
        gone = true;
        this.applicants.delete(applicant);
        forget();
      };
      const forget = atEndOfTerm(signal, () => {
        leave();
        resolve(null);
      });
      const applicant: Applicant = {
        give: (thread) => {
          if (gone) return this.putBack(thread);
          leave();
          resolve(thread);
        },
        refuse: (failure) => {
          leave();
          reject(failure);
        },
      };
      this.applicants.add(applicant);
      this.serve();
    });
  }

  /** Gives out what is idle, and starts threads while more are wanted and allowed. */
  private serve(): void {
    for (const applicant of this.applicants) {
      const [idle] = this.idle;
      if (idle === undefined && this.threads.size >= this.most) return;
      this.applicants.delete(applicant);
      if (idle === undefined) this.startFor(applicant);
      else {
        this.idle.delete(idle);
        applicant.give(idle);
      }
    }
  }

  private startFor(applicant: Applicant): void {
    let thread: WorkerThread;
    try {
      thread = new WorkerThread(this.threadOptions, () => this.remove(thread));
    } catch (error) {
      return applicant.refuse(error as Error);
    }
    this.threads.add(thread);
    thread.ready.then(() => applicant.give(thread), applicant.refuse);
  }

  private putBack(thread: WorkerThread): void {
    if (!this.threads.has(thread)) return;
    this.idle.add(thread);
    thread.rest();
    this.serve();
  }

  private remove(thread: WorkerThread): void {
    this.threads.delete(thread);
    this.idle.delete(thread);
    if (this.threads.size === 0) for (const wake of this.onEmpty.splice(0)) wake();
    if (!this.disposed) this.serve();
  }
}

const day = 86_400_000;
const closedText = "the handler was disposed of, and its threads with it";

/** A relative path would be looked up beside Holdfast's own files. */
function hrefOf(module: URL | string): string {
  const url = urlOf(module);
  if (url === null) {
    throw bad(`"${String(module)}" is neither a URL nor an absolute path; give new URL("./x.js", import.meta.url).`);
  }
  if (url.protocol === "file:" && !existsSync(fileURLToPath(url))) throw bad(`there is no file ${fileURLToPath(url)}.`);
  return url.href;
}

function urlOf(module: URL | string): URL | null {
  if (module instanceof URL) return module;
  if (typeof module !== "string") return null;
  if (isAbsolute(module)) return pathToFileURL(module);
  return URL.canParse(module) ? new URL(module) : null;
}

function within(name: string, value: number, min: number, max: number): number {
  if (Number.isInteger(value) && value >= min && value <= max) return value;
  throw bad(`${name} must be a whole number from ${min} to ${max}, not ${String(value)}.`);
}

function bad(message: string): HoldfastError {
  return new HoldfastError("BAD_SETTINGS", `The handler cannot be made: ${message}`);
}
