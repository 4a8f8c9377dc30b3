import { type ChildProcess, spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { fileURLToPath } from "node:url";
import { within } from "../../src/lifecycle/within.js";
import type { NodeCommand, NodeOrder, NodeReport } from "./node-order.js";

const script = fileURLToPath(new URL("node.mjs", import.meta.url));
const startWithinMs = 30_000;

/** What became of a command. */
export type Obeyed =
  | { readonly kind: "done"; readonly value: unknown }
  | { readonly kind: "refused"; readonly code: string; readonly message: string }
  /** The process ended first. */
  | { readonly kind: "gone" };

export interface SpawnOptions {
  /** What stands in front of the program: `ip netns exec ...`. It must replace itself by the program, so that signals meet the node. */
  readonly prefix?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** One process of node.mjs. Disposing kills it, frozen or not. */
export class NodeProcess extends EventEmitter<{ report: [NodeReport]; exit: [string] }> implements AsyncDisposable {
  readonly order: NodeOrder;
  readonly pid: number;
  /** Resolves with the signal or the exit code. */
  readonly ended: Promise<string>;
  private readonly child: ChildProcess;
  private readonly replies = new Map<number, (obeyed: Obeyed) => void>();
  private nextId = 1;
  private isGone = false;

  constructor(order: NodeOrder, { prefix = [], env = {} }: SpawnOptions = {}) {
    super();
    this.order = order;
    const [command, ...args] = [...prefix, process.execPath, script, JSON.stringify(order)];
    this.child = spawn(command, args, {
      stdio: ["ignore", "ignore", "inherit", "ipc"],
      env: { ...process.env, ...env },
    });
    this.pid = this.child.pid ?? 0;
    this.child.on("message", (message) => this.take(message as NodeReport));
    this.ended = once(this.child, "exit").then(([code, signal]) => String(signal ?? code));
    void this.ended.then((how) => this.leave(how));
  }

  /** Resolves when it serves; answers what went wrong where it does not. */
  async started(): Promise<"started" | { readonly failed: string }> {
    const outcome = new Promise<"started" | { readonly failed: string }>((resolve) => {
      this.on("report", (report) => {
        if (report.kind === "started") resolve("started");
        if (report.kind === "failed") resolve({ failed: `${report.code}: ${report.message}` });
      });
      void this.ended.then((how) => resolve({ failed: `it ended: ${how}` }));
    });
    return await within(startWithinMs, outcome, () => ({ failed: `it took longer than ${startWithinMs} ms` }));
  }

  async ask(command: NodeCommand): Promise<Obeyed> {
    if (this.isGone) return { kind: "gone" };
    const id = this.nextId++;
    return await new Promise((resolve) => {
      this.replies.set(id, resolve);
      // What cannot be sent is not answered either, and the end of the process tells so.
      this.child.send({ ...command, id }, () => undefined);
    });
  }

  /** Does nothing where it has ended. */
  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.child.kill("SIGKILL");
    await this.ended;
  }

  private leave(how: string): void {
    this.isGone = true;
    for (const resolve of this.replies.values()) resolve({ kind: "gone" });
    this.replies.clear();
    this.emit("exit", how);
  }

  private take(report: NodeReport): void {
    if (report.kind !== "reply") return void this.emit("report", report);
    const { id, value, error } = report;
    this.replies.get(id)?.(error === undefined ? { kind: "done", value } : { kind: "refused", ...error });
    this.replies.delete(id);
  }
}
