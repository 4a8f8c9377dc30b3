import { type ChildProcess, spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { within } from "../../src/lifecycle/within.js";
import type { NodeCommand, NodeOrder, NodeReport, Point } from "./node-order.js";

const script = fileURLToPath(new URL("node.mjs", import.meta.url));
const startDeadlineMs = 60_000;

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

type Reply = Extract<NodeReport, { readonly kind: "reply" }>;

/** node.mjs, started where the orchestrator wants it. It ends with this process. Disposing kills it, frozen or not. */
export class PlaceProcess extends EventEmitter<{ reached: [Point] }> implements AsyncDisposable {
  readonly order: NodeOrder;
  readonly pid: number;
  readonly exited: Promise<Exit>;
  /** Resolves when the node has joined; rejects when it could not, or ended first. */
  readonly started: Promise<void>;
  private readonly child: ChildProcess;
  private readonly replies = new Map<number, (reply: Reply) => void>();
  private asked = 0;
  private ended = false;

  constructor(
    order: NodeOrder,
    enter: (command: readonly string[]) => readonly string[],
    env: Readonly<Record<string, string>> = {},
  ) {
    super();
    this.order = order;
    const [program = "", ...args] = enter([process.execPath, script, JSON.stringify(order)]);
    this.child = spawn(program, args, {
      stdio: ["ignore", "inherit", "inherit", "ipc"],
      env: { ...process.env, ...env },
    });
    this.pid = this.child.pid ?? 0;
    this.exited = once(this.child, "exit").then(([code, signal]): Exit => ({ code, signal }));
    this.started = this.awaitStart();
    // Whoever starts a process and loses interest in it must not end the run by that.
    this.started.catch(() => undefined);
    this.child.on("message", (message) => this.take(message as NodeReport));
    this.child.on("exit", () => {
      this.ended = true;
      for (const answer of this.replies.values())
        answer({ kind: "reply", id: 0, error: { code: "GONE", message: `${this.name} has ended.` } });
      this.replies.clear();
    });
  }

  get name(): string {
    return this.order.name;
  }

  get isAlive(): boolean {
    return !this.ended;
  }

  async ask<Value = void>(command: NodeCommand): Promise<Value> {
    if (this.ended) throw new Error(`${this.name} has ended.`);
    this.asked += 1;
    const id = this.asked;
    const reply = new Promise<Reply>((resolve) => {
      this.replies.set(id, resolve);
    });
    // A process that is dying closes its channel first; its exit answers.
    this.child.send({ ...command, id }, () => undefined);
    const { value, error } = await reply;
    if (error !== undefined) throw new Error(`${this.name}: ${error.message}`);
    return value as Value;
  }

  kill(signal: NodeJS.Signals): void {
    if (!this.ended) process.kill(this.pid, signal);
  }

  /** Whether a SIGSTOP has taken hold of it. */
  get isStopped(): boolean {
    try {
      return /\) T/.test(readFileSync(`/proc/${this.pid}/stat`, "utf8"));
    } catch {
      return false;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.kill("SIGKILL");
    await this.exited;
  }

  private async awaitStart(): Promise<void> {
    const said = new Promise<void>((resolve, reject) => {
      this.child.on("message", (message: NodeReport) => {
        if (message.kind === "started") resolve();
        if (message.kind === "failed")
          reject(new Error(`${this.name} did not start: ${message.code} ${message.message}`));
      });
      this.exited.then(
        ({ code, signal }) => reject(new Error(`${this.name} ended before it had joined, by ${signal ?? code}.`)),
        reject,
      );
    });
    await within(startDeadlineMs, said, () => {
      throw new Error(`${this.name} did not join within ${startDeadlineMs} ms.`);
    });
  }

  private take(message: NodeReport): void {
    if (message.kind === "reached") this.emit("reached", message.point);
    if (message.kind !== "reply") return;
    this.replies.get(message.id)?.(message);
    this.replies.delete(message.id);
  }
}
