import { type ChildProcess, fork } from "node:child_process";
import { EventEmitter } from "node:events";
import { atTheEnd } from "./cleanup.js";
import type { FromProcess, ToProcess } from "./messages.js";
import type { ProgramName } from "./programs.js";

type Kind = FromProcess["kind"];
type Of<K extends Kind> = Extract<FromProcess, { kind: K }>;

/** Far beyond what anything takes: a machine that is busy with other things makes a bench late, and does not fail it. */
const patienceMs = 180_000;

interface ProcessOptions {
  readonly execPath?: string;
  /** Of Node itself. */
  readonly execArgv?: string[];
}

/** A real process that can be killed or frozen, and the messages that come from it. */
export class BenchProcess extends EventEmitter<{ message: [FromProcess] }> {
  private readonly child: ChildProcess;
  private readonly said = new Map<Kind, FromProcess>();
  private readonly program: ProgramName;
  private killed = false;

  constructor(program: ProgramName, url: string, options: ProcessOptions = {}) {
    super();
    this.setMaxListeners(0);
    this.program = program;
    this.child = fork(process.argv[1] ?? "", ["--process", program, url], {
      stdio: ["ignore", "ignore", "inherit", "ipc"],
      serialization: "advanced",
      ...options,
    });
    this.child.on("message", (message) => this.hear(message as FromProcess));
    this.child.on("exit", (code, signal) => {
      if (!this.killed) this.hear({ kind: "failed", reason: `ended by itself (${signal ?? code})` });
    });
    atTheEnd(() => this.kill());
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  private hear(message: FromProcess): void {
    if (message.kind === "failed" && this.listenerCount("message") === 0) {
      console.error(`${this.program}: ${message.reason}`);
    }
    this.said.set(message.kind, message);
    this.emit("message", message);
  }

  /** The process imports its modules meanwhile; starting one while something is measured would disturb it. */
  async loaded(): Promise<this> {
    if (!this.said.has("loaded")) await this.next("loaded");
    return this;
  }

  send(message: ToProcess): void {
    this.child.send(message);
  }

  async ask<K extends Kind>(message: ToProcess, kind: K, withinMs = patienceMs): Promise<Of<K>> {
    const answer = this.next(kind, withinMs);
    this.send(message);
    return await answer;
  }

  next<K extends Kind>(kind: K, withinMs = patienceMs): Promise<Of<K>> {
    return new Promise((resolve, reject) => {
      const settle = (act: () => void): void => {
        clearTimeout(timer);
        this.off("message", listen);
        act();
      };
      const listen = (message: FromProcess): void => {
        if (message.kind === kind) settle(() => resolve(message as Of<K>));
        else if (message.kind === "failed") settle(() => reject(new Error(`${this.program}: ${message.reason}`)));
      };
      const timer = setTimeout(
        () => settle(() => reject(new Error(`${this.program} did not say "${kind}" within ${withinMs / 1000} s`))),
        withinMs,
      );
      this.on("message", listen);
    });
  }

  /** Returns the moment before the signal was sent. */
  signal(signal: "SIGKILL" | "SIGSTOP"): bigint {
    this.killed = signal === "SIGKILL";
    const at = process.hrtime.bigint();
    this.child.kill(signal);
    return at;
  }

  kill(): void {
    if (!this.killed) this.signal("SIGKILL");
  }
}
