import { setImmediate } from "node:timers/promises";
import type { CommandLine, CrashOrigin, Output } from "../../src/cli/command-line.js";

export interface FakeOptions {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** What is typed when a line is asked for. */
  readonly answer?: string;
}

/** A command line without a process: what was written can be read, keys can be pressed, signals can be sent. */
export class FakeCommandLine implements CommandLine {
  readonly stdin: CommandLine["stdin"];
  readonly stdout: Output;
  readonly stderr: Output;
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  written = "";
  complained = "";
  private readonly keys = new Set<(key: string) => void>();
  private readonly signals = new Set<(signal: NodeJS.Signals) => void>();
  private readonly crashes = new Set<(error: unknown, origin: CrashOrigin) => void>();

  constructor({ isTTY = false, columns = 80, rows = 24, env = {}, cwd = "/", answer = "" }: FakeOptions = {}) {
    const screen = { isTTY, columns, rows };
    const write = (text: string): void => {
      this.written += text;
    };
    const complain = (text: string): void => {
      this.complained += text;
    };
    this.stdout = { ...screen, write };
    this.stderr = { ...screen, write: complain };
    this.stdin = {
      isTTY,
      readLine: () => Promise.resolve(answer),
      onKey: (listener) => this.listen(this.keys, listener),
    };
    this.env = env;
    this.cwd = cwd;
  }

  onSignal(_signals: readonly NodeJS.Signals[], listener: (signal: NodeJS.Signals) => void): () => void {
    return this.listen(this.signals, listener);
  }

  onCrash(listener: (error: unknown, origin: CrashOrigin) => void): () => void {
    return this.listen(this.crashes, listener);
  }

  press(key: string): void {
    for (const listener of this.keys) listener(key);
  }

  send(signal: NodeJS.Signals): void {
    for (const listener of this.signals) listener(signal);
  }

  crash(error: unknown): void {
    for (const listener of this.crashes) listener(error, "exception");
  }

  /** Whether nothing of the keyboard and of the process is still listened to. */
  get isQuiet(): boolean {
    return this.keys.size + this.signals.size + this.crashes.size === 0;
  }

  /** Resolves when this has been written, some time or other. */
  async saw(text: string): Promise<void> {
    const deadline = performance.now() + 20_000;
    while (!this.written.includes(text)) {
      if (performance.now() > deadline) throw new Error(`"${text}" was not written:\n${this.written}`);
      await setImmediate();
    }
  }

  private listen<Listener>(listeners: Set<Listener>, listener: Listener): () => void {
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
    };
  }
}
