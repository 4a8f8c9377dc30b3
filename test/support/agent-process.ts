import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { waitUntil } from "../../src/store/embedded/wait-until.js";
import { type Exit, programPath, serveEnvironment } from "./serve-process.js";

const deadlineMs = 30_000;

export interface AgentProcessOptions {
  readonly urls: readonly string[];
  /** The text of each module, by its name. */
  readonly operations: Readonly<Record<string, string>>;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** `holdfast agent` in a process of its own. Disposing kills it. */
export class AgentProcess implements AsyncDisposable {
  readonly exited: Promise<Exit>;
  output = "";
  private readonly child: ChildProcess;
  private readonly folder: string;

  private constructor(child: ChildProcess, folder: string) {
    this.child = child;
    this.folder = folder;
    this.exited = once(child, "close").then(([code, signal]): Exit => ({ code, signal }));
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding("utf8").on("data", (text: string) => {
        this.output += text;
      });
    }
  }

  static async spawn({ urls, operations, args = [], env = {} }: AgentProcessOptions): Promise<AgentProcess> {
    const folder = await mkdtemp(join(tmpdir(), "holdfast-agent-"));
    for (const [name, text] of Object.entries(operations)) await writeFile(join(folder, name), text);
    const where = urls.flatMap((url) => ["--url", url]);
    const words = ["agent", "--name", "worker-1", "--ops", folder, ...where, ...args];
    const child = spawn(process.execPath, [programPath, ...words], {
      cwd: folder,
      stdio: ["ignore", "pipe", "pipe"],
      env: serveEnvironment({}, env),
    });
    return new AgentProcess(child, folder);
  }

  /** Resolves when the output holds this text. */
  async said(text: string): Promise<void> {
    if (!(await waitUntil(() => this.output.includes(text), deadlineMs))) {
      throw new Error(`holdfast agent did not say "${text}":\n${this.output}`);
    }
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.child.kill("SIGKILL");
    await this.exited;
    await rm(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}
