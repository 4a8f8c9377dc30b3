import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { rm } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { stripVTControlCharacters } from "node:util";
import type { NodesAnswer, StatusAnswer } from "../../src/server/cluster-answers.js";
import { processMark } from "../../src/store/embedded/process-identity.js";
import { waitUntil } from "../../src/store/embedded/wait-until.js";
import { freePorts } from "./free-ports.js";
import { makeTestDirectory } from "./postgres.js";
import { type Exit, programPath, serveEnvironment } from "./serve-process.js";

export const repositoryRoot = fileURLToPath(new URL("../..", import.meta.url));

export interface DemoProcessOptions {
  readonly args?: readonly string[];
  readonly nodes?: number;
  readonly port?: number;
  /** Kept when given; otherwise made, and removed in the end. */
  readonly dataDir?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** What runs the demo; its arguments follow. */
  readonly command?: readonly string[];
  readonly onTerminal?: boolean;
}

const deadlineMs = 60_000;

/** `holdfast demo` in a process of its own. Disposing ends it and whatever it would have left behind. */
export class DemoProcess implements AsyncDisposable {
  readonly child: ChildProcess;
  readonly port: number;
  readonly nodes: number;
  readonly dataDir: string;
  readonly exited: Promise<Exit>;
  stdout = "";
  stderr = "";
  private readonly removes: boolean;

  private constructor(child: ChildProcess, given: { port: number; nodes: number; dataDir: string; removes: boolean }) {
    this.child = child;
    this.port = given.port;
    this.nodes = given.nodes;
    this.dataDir = given.dataDir;
    this.removes = given.removes;
    this.exited = new Promise((resolve) => child.once("exit", (code, signal) => resolve({ code, signal })));
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      this.stdout += text;
    });
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.stderr += text;
    });
  }

  /** Does not wait for the start, which may be meant to fail. */
  static async spawn(options: DemoProcessOptions = {}): Promise<DemoProcess> {
    const { nodes = 3, args = [], env = {}, command = [process.execPath, programPath, "demo"] } = options;
    const port = options.port ?? (await freePorts(nodes));
    const dataDir = options.dataDir ?? (await makeTestDirectory());
    const words = [...command, "--nodes", `${nodes}`, "--port", `${port}`, "--data-dir", dataDir, ...args];
    const onTerminal = options.onTerminal === true;
    const inTerminal = ["script", "-qefc", `stty rows 30 cols 120; exec ${words.map(quoted).join(" ")}`, "/dev/null"];
    const [program = "", ...rest] = onTerminal ? inTerminal : words;
    const child = spawn(program, rest, {
      cwd: options.cwd ?? dataDir,
      stdio: [onTerminal ? "pipe" : "ignore", "pipe", "pipe"],
      detached: true,
      env: serveEnvironment({}, { TERM: "xterm", ...env }),
    });
    return new DemoProcess(child, { port, nodes, dataDir, removes: options.dataDir === undefined });
  }

  /** Resolves when it has printed that it is ready. */
  static async start(options: DemoProcessOptions = {}): Promise<DemoProcess> {
    const demo = await DemoProcess.spawn(options);
    try {
      await demo.until(() => demo.stdout.includes("ready: "));
      return demo;
    } catch (error) {
      await demo[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Fails with all that was written when it does not come true, or when the demo has ended. */
  async until(condition: () => boolean | Promise<boolean>): Promise<void> {
    let met = false;
    let ended = false;
    void this.exited.then(() => {
      ended = true;
    });
    const look = async (): Promise<boolean> => {
      met = await condition();
      return met || ended;
    };
    await waitUntil(look, deadlineMs);
    if (!met) throw new Error(`${ended ? "The demo ended" : "It did not come true"}:\n${this.stderr}\n${this.stdout}`);
  }

  url(index: number): string {
    return `http://127.0.0.1:${this.port + index}`;
  }

  /** What the first node that answers says of the cluster. */
  async cluster(): Promise<NodesAnswer> {
    return await Promise.any(this.indexes().map((index) => this.read<NodesAnswer>(index, "/cluster/nodes")));
  }

  /** The ids of the nodes that say of themselves that they lead. */
  async primaries(): Promise<readonly string[]> {
    const answers = await Promise.allSettled(
      this.indexes().map((index) => this.read<StatusAnswer>(index, "/cluster/status")),
    );
    return answers.flatMap((answer) =>
      answer.status === "fulfilled" && answer.value.role === "primary" ? [answer.value.node_id] : [],
    );
  }

  async read<Answer>(index: number, path: string): Promise<Answer> {
    const response = await fetch(`${this.url(index)}${path}`, { signal: AbortSignal.timeout(2_000) });
    if (!response.ok) throw new Error(`HTTP ${response.status}`);
    return (await response.json()) as Answer;
  }

  press(key: string): void {
    this.child.stdin?.write(key);
  }

  /** The last whole frame that was drawn, without what steers the terminal. */
  get screen(): string {
    return stripVTControlCharacters(this.stdout.split("\u001b[H").at(-2) ?? "");
  }

  /** What is still there of it: processes, ports, files that stand for something that runs. */
  async remains(): Promise<readonly string[]> {
    const files = ["owner.json", "data/postmaster.pid"].filter((name) => existsSync(join(this.dataDir, name)));
    const ports = await Promise.all(
      this.indexes().map(async (index) =>
        (await isListening(this.port + index)) ? [`port ${this.port + index}`] : [],
      ),
    );
    return [...files, ...ports.flat(), ...processesIn(this.dataDir).map(({ pid, name }) => `process ${pid} (${name})`)];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.child.pid !== undefined && processMark(this.child.pid) !== undefined) this.child.kill("SIGTERM");
    const impatient = setTimeout(() => this.child.kill("SIGKILL"), deadlineMs);
    await this.exited;
    clearTimeout(impatient);
    // A directory that was given may be another demo's too.
    if (this.removes) await clearAway(this.dataDir);
  }

  private indexes(): readonly number[] {
    return Array.from({ length: this.nodes }, (_, index) => index);
  }
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

/** All processes that work below this directory: nodes and the server do. Knows of none where there is no /proc. */
export function processesIn(directory: string): readonly { readonly pid: number; readonly name: string }[] {
  if (!existsSync("/proc/self/cwd")) return [];
  return readdirSync("/proc").flatMap((entry) => {
    const pid = Number(entry);
    if (!Number.isInteger(pid) || pid === process.pid || processMark(pid) === undefined) return [];
    try {
      const works = readlinkSync(`/proc/${pid}/cwd`);
      const name = readFileSync(`/proc/${pid}/comm`, "utf8").trim();
      return works === directory || works.startsWith(`${directory}/`) ? [{ pid, name }] : [];
    } catch {
      // It ended between the two looks.
      return [];
    }
  });
}

/** The directory, and whoever still works in it. */
export async function clearAway(directory: string): Promise<void> {
  for (const { pid } of processesIn(directory)) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It ended by itself in this very moment.
    }
  }
  await rm(directory, { recursive: true, force: true, maxRetries: 10 });
}

async function isListening(port: number): Promise<boolean> {
  return await new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port });
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}
