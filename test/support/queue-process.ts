import { type ChildProcess, spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { fileURLToPath } from "node:url";
import type { NodeOptions } from "../../src/node.js";
import type { QueueOptions } from "../../src/queue/queue-settings.js";
import type { Delivery } from "./delivery-history.js";

const script = fileURLToPath(new URL("queue-process.mjs", import.meta.url));
const startWithinMs = 20_000;

export interface QueueProcessOptions {
  readonly settings: NodeOptions;
  readonly queue: QueueOptions;
}

/** What became of a command. */
export type Answer =
  | { readonly kind: "done"; readonly value: unknown }
  | { readonly kind: "refused"; readonly code: string; readonly message: string }
  /** The process ended first: whether it was done is not known. */
  | { readonly kind: "gone" };

/** Times are CLOCK_MONOTONIC in milliseconds, which all processes of a machine share. */
export interface Election {
  readonly epoch: number;
  readonly reason: string;
  readonly at: number;
}

type Report =
  | { readonly kind: "started"; readonly nodeId: string }
  | { readonly kind: "failed"; readonly code: string; readonly message: string }
  | ({ readonly kind: "elected" | "lost" } & Election)
  | { readonly kind: "delivery"; readonly delivery: Delivery }
  | { readonly kind: "log"; readonly line: { readonly msg: string; readonly [field: string]: unknown } }
  | {
      readonly kind: "reply";
      readonly id: number;
      readonly value?: unknown;
      readonly error?: { readonly code: string; readonly message: string };
    };

/** A node with a queue in a process of its own. Disposing kills it, frozen or not. */
export class QueueProcess
  extends EventEmitter<{ elected: [Election]; lost: [Election]; delivery: [Delivery]; started: [] }>
  implements AsyncDisposable
{
  readonly pid: number;
  /** Resolves when it has ended and all that it had told is heard. */
  readonly gone: Promise<unknown>;
  readonly log: string[] = [];
  /** The epochs in which it said that it had lost track of what was claimed or finished. */
  readonly lostTrack = new Set<number>();
  private readonly child: ChildProcess;
  private readonly replies = new Map<number, (answer: Answer) => void>();
  private nextId = 1;
  private name = "";
  private isGone = false;
  private failure = "";

  constructor({ settings, queue }: QueueProcessOptions) {
    super();
    this.child = spawn(process.execPath, [script, JSON.stringify({ settings, queue })], {
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    });
    this.pid = this.child.pid ?? 0;
    this.child.on("message", (message) => this.take(message as Report));
    this.gone = Promise.all([once(this.child, "exit"), once(this.child, "disconnect")]);
    this.child.once("disconnect", () => this.leave());
  }

  /** Resolves when the node has joined. */
  async started(): Promise<this> {
    const late = setTimeout(() => this.child.kill("SIGKILL"), startWithinMs);
    const began = once(this, "started");
    await Promise.race([began, this.gone]);
    clearTimeout(late);
    if (this.name === "") {
      await this[Symbol.asyncDispose]();
      throw new Error(`A process with a queue did not start: ${this.failure}\n${this.log.join("\n")}`);
    }
    return this;
  }

  get id(): string {
    return this.name;
  }

  async ask(command: string, order: Readonly<Record<string, unknown>> = {}): Promise<Answer> {
    if (this.isGone) return { kind: "gone" };
    const id = this.nextId++;
    return await new Promise((resolve) => {
      this.replies.set(id, resolve);
      // What cannot be sent is not answered either, and the channel's end tells so.
      this.child.send({ ...order, id, command }, () => undefined);
    });
  }

  /** Like `ask`, for what cannot fail. */
  async value<Value>(command: string, order: Readonly<Record<string, unknown>> = {}): Promise<Value> {
    const answer = await this.ask(command, order);
    if (answer.kind === "done") return answer.value as Value;
    throw new Error(`"${command}" at ${this.id}: ${JSON.stringify(answer)}`);
  }

  /** Returns the moment before the signal was sent. */
  kill(signal: "SIGKILL" | "SIGSTOP"): number {
    const at = nowMs();
    process.kill(this.pid, signal);
    return at;
  }

  /** Does nothing where it runs, or has ended. */
  thaw(): void {
    this.child.kill("SIGCONT");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.child.kill("SIGKILL");
    await this.gone;
  }

  private leave(): void {
    this.isGone = true;
    for (const resolve of this.replies.values()) resolve({ kind: "gone" });
    this.replies.clear();
  }

  private take(report: Report): void {
    switch (report.kind) {
      case "reply":
        return this.settle(report);
      case "delivery":
        return void this.emit("delivery", report.delivery);
      case "elected":
      case "lost":
        return void this.emit(report.kind, report);
      case "log":
        if (/not known what was finished|could not be claimed/.test(report.line.msg)) {
          this.lostTrack.add(Number(report.line["epoch"]));
        }
        return void this.log.push(JSON.stringify(report.line));
      case "started":
        this.name = report.nodeId;
        return void this.emit("started");
      case "failed":
        this.failure = `${report.code}: ${report.message}`;
        this.child.kill("SIGKILL");
    }
  }

  private settle({ id, value, error }: Extract<Report, { kind: "reply" }>): void {
    const answer: Answer = error === undefined ? { kind: "done", value } : { kind: "refused", ...error };
    this.replies.get(id)?.(answer);
    this.replies.delete(id);
  }
}

function nowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
