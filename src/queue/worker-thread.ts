import { Worker } from "node:worker_threads";
import { failureReason } from "./core/failure-reason.js";
import type { HandlerCall } from "./handler-call.js";
import type { ThreadData, ThreadOrder, ThreadReply } from "./handler-thread.js";
import type { Message } from "./message.js";

export interface WorkerThreadOptions {
  /** The URL of the application's module. */
  readonly module: string;
  readonly memoryMb: number;
  /** How long the module may take to be imported. */
  readonly startTimeoutMs: number;
}

interface Pending {
  readonly resolve: (value: unknown) => void;
  readonly reject: (failure: Error) => void;
}

const script = new URL("./handler-thread.js", import.meta.url);

/** Threads inherit the process's options, so that a loader works there too; but this one is refused for a script in a file. */
const startedFromText = process.execArgv.some((option) => option.startsWith("--input-type"));

/** One thread with the application's module, as this side sees it. It handles one message at a time, until it ends. */
export class WorkerThread {
  /** Resolves once the module is there to handle messages; rejects if it never will be, and the thread then ends. */
  readonly ready: Promise<void>;
  private readonly worker: Worker;
  private readonly memoryMb: number;
  private readonly onEnd: () => void;
  private pending: Pending | null = null;
  private failure: string | null = null;

  constructor(options: WorkerThreadOptions, onEnd: () => void) {
    this.memoryMb = options.memoryMb;
    this.onEnd = onEnd;
    const workerData: ThreadData = { module: options.module };
    this.worker = new Worker(script, {
      name: "holdfast-handler",
      workerData,
      resourceLimits: { maxOldGenerationSizeMb: options.memoryMb },
      ...(startedFromText ? { execArgv: [] } : {}),
    });
    this.worker.on("message", (said: unknown) => {
      if (isReply(said)) this.hear(said);
    });
    this.worker.on("messageerror", () => this.end("the handler's answer cannot be read"));
    this.worker.on("error", (error) => {
      this.failure ??= this.describe(error);
    });
    this.worker.on("exit", (code) => this.exited(code));
    this.ready = this.start(options.startTimeoutMs);
  }

  call(message: Message): HandlerCall {
    // A Buffer is often a view of a larger store, all of which would be copied.
    const body = new Uint8Array(message.body);
    this.send({ kind: "call", message: { ...message, body } }, [body.buffer]);
    this.worker.ref();
    const settled = this.expect();
    const { pending } = this;
    // Later the thread may be at work on another message.
    const whileUnderWay = (act: () => void) => {
      if (this.pending === pending) act();
    };
    return {
      settled,
      abort: (reason) => whileUnderWay(() => this.send({ kind: "abort", reason: failureReason(reason, "") })),
      kill: () => whileUnderWay(() => this.end("the handler's thread was ended")),
    };
  }

  /** An idle thread alone does not keep the process alive. */
  rest(): void {
    this.worker.unref();
  }

  /** Ends the thread by force, whatever it does; `reason` is what a call under way fails with. */
  end(reason: string): void {
    this.failure ??= reason;
    void this.worker.terminate();
  }

  private async start(timeoutMs: number): Promise<void> {
    const settled = this.expect();
    const timer = setTimeout(
      () => this.end(`the handler's module took longer than ${timeoutMs} ms to load`),
      timeoutMs,
    );
    try {
      await settled;
    } catch (error) {
      this.end("the handler's module cannot be loaded");
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  private expect(): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.pending = { resolve, reject };
    });
  }

  private send(order: ThreadOrder, transferred: readonly ArrayBuffer[] = []): void {
    this.worker.postMessage(order, transferred);
  }

  private hear(reply: ThreadReply): void {
    const pending = this.pending;
    this.pending = null;
    switch (reply.kind) {
      case "ready":
        return pending?.resolve(undefined);
      case "returned":
        return pending?.resolve(reply.value);
      case "threw":
        return pending?.reject(new Error(reply.error));
      case "unusable":
        return pending?.reject(new Error(`the handler's module cannot be loaded: ${reply.error}`));
    }
  }

  /** What ended the thread can be anything that its code threw. */
  private describe(error: unknown): string {
    if (error instanceof Error && "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY") {
      return `the handler ran out of memory: it may use ${this.memoryMb} MB`;
    }
    return `the handler's thread ended: ${failureReason(error, "")}`;
  }

  private exited(code: number): void {
    this.failure ??= `the handler ended its own thread with exit code ${code}`;
    this.pending?.reject(new Error(this.failure));
    this.pending = null;
    this.onEnd();
  }
}

/** The application's own code in the thread may speak to its parent too, and is not heard. */
function isReply(said: unknown): said is ThreadReply {
  const replies: readonly unknown[] = ["ready", "unusable", "returned", "threw"] satisfies ThreadReply["kind"][];
  return typeof said === "object" && said !== null && "kind" in said && replies.includes(said.kind);
}
