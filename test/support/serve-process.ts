import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { environmentName } from "../../src/config/environment-name.js";
import { waitUntil } from "../../src/store/embedded/wait-until.js";
import { freePort } from "./free-ports.js";

/** The command line as it ships: `npm run build` makes it. */
export const programPath = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url));

const deadlineMs = 30_000;

/** Settings by the names of holdfast.toml: `{ "cluster.node_id": "a" }`. */
export type ServeSettings = Readonly<Record<string, string | number | boolean>>;

export interface ServeOptions {
  /** Another command that serves in the end. */
  readonly command?: "serve" | "supervise" | "controller";
  readonly settings?: ServeSettings;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Where it runs; by default an empty folder of its own, so that no holdfast.toml is found there. */
  readonly cwd?: string;
}

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** Settings that let a lease run out within a test, on a busy machine too. */
export const quickCluster = {
  "cluster.enabled": true,
  "cluster.heartbeat_seconds": 0.25,
  "cluster.leader_fence_timeout_seconds": 1.5,
  "cluster.leader_lease_ttl_seconds": 2,
  "cluster.node_timeout_seconds": 1.5,
} as const satisfies ServeSettings;

/** Settings for tests that wait for no lease to run out: it is so long that nobody loses a role by the way on a busy machine. */
export const patientCluster = {
  "cluster.leader_fence_timeout_seconds": 10,
  "cluster.leader_lease_ttl_seconds": 15,
  "cluster.node_timeout_seconds": 15,
} as const satisfies ServeSettings;

/** This process's environment without Holdfast's part of it, and with the settings. */
export function serveEnvironment(settings: ServeSettings, env: Readonly<Record<string, string>> = {}) {
  const ours = Object.entries(settings).map(([path, value]) => [environmentName(path), String(value)]);
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith("HOLDFAST_"));
  return { ...Object.fromEntries([...inherited, ...ours]), ...env } as Record<string, string>;
}

/** `holdfast serve` in a process of its own. Disposing kills it, frozen or not. */
export class ServeProcess implements AsyncDisposable {
  readonly url: string;
  readonly pid: number;
  readonly exited: Promise<Exit>;
  /** All that it wrote so far. */
  output = "";
  private readonly child: ChildProcess;
  private readonly folder: string;
  private readonly watchers = new Set<() => void>();

  private constructor(child: ChildProcess, folder: string, url: string) {
    this.child = child;
    this.folder = folder;
    this.url = url;
    this.pid = child.pid ?? 0;
    this.exited = once(child, "exit").then(([code, signal]): Exit => ({ code, signal }));
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding("utf8").on("data", (text: string) => {
        this.output += text;
        for (const look of this.watchers) look();
      });
    }
  }

  /** Resolves when it answers `GET /health`, on a free port unless the settings name one. */
  static async start(options: ServeOptions = {}): Promise<ServeProcess> {
    for (let attempt = 1; ; attempt += 1) {
      const served = await ServeProcess.spawn(options);
      try {
        await served.answers();
        return served;
      } catch (error) {
        await served[Symbol.asyncDispose]();
        // Another test took the port between the look and the listening.
        if (attempt === 3 || !served.output.includes("ADDRESS_IN_USE")) throw error;
      }
    }
  }

  /** Does not wait for the start, which may be meant to fail or to take long. */
  static async spawn(options: ServeOptions = {}): Promise<ServeProcess> {
    const { command = "serve", settings = {}, args = [], env = {}, cwd } = options;
    const port = settings["api.port"] ?? (await freePort());
    const folder = await mkdtemp(join(tmpdir(), "holdfast-serve-"));
    const url = `http://127.0.0.1:${port}`;
    const all = { "api.port": port, "api.public_url": url, ...settings };
    const child = spawn(process.execPath, [programPath, command, ...args], {
      cwd: cwd ?? folder,
      stdio: ["ignore", "pipe", "pipe"],
      env: serveEnvironment(all, env),
    });
    return new ServeProcess(child, folder, url);
  }

  private async answers(): Promise<void> {
    let ended: Exit | null = null;
    this.exited.then(
      (exit) => {
        ended = exit;
      },
      () => undefined,
    );
    const healthy = async (): Promise<boolean> => ended !== null || (await this.get("/health")).status === 200;
    const inTime = await waitUntil(() => healthy().catch(() => false), deadlineMs);
    if (ended !== null) throw new Error(`holdfast serve ended with ${JSON.stringify(ended)}:\n${this.output}`);
    if (!inTime) throw new Error(`holdfast serve did not answer within ${deadlineMs} ms:\n${this.output}`);
  }

  async get(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    return await fetch(`${this.url}${path}`, { headers, signal: AbortSignal.timeout(5_000) });
  }

  /** The body of a GET, whatever its status. */
  async read<Body>(path: string, headers: Readonly<Record<string, string>> = {}): Promise<Body> {
    return (await (await this.get(path, headers)).json()) as Body;
  }

  async post<Body>(path: string, body: unknown = {}, headers: Readonly<Record<string, string>> = {}): Promise<Body> {
    const response = await fetch(`${this.url}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(deadlineMs),
    });
    return (await response.json()) as Body;
  }

  /** Resolves when the output holds this text, written already or still to come. */
  async said(text: string): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const settle = (act: () => void): void => {
        this.watchers.delete(look);
        clearTimeout(timer);
        act();
      };
      const look = (): void => {
        if (this.output.includes(text)) settle(resolve);
      };
      const timer = setTimeout(
        () => settle(() => reject(new Error(`holdfast serve did not say "${text}":\n${this.output}`))),
        deadlineMs,
      );
      this.watchers.add(look);
      look();
    });
  }

  kill(signal: NodeJS.Signals): void {
    process.kill(this.pid, signal);
  }

  freeze(): void {
    this.kill("SIGSTOP");
  }

  thaw(): void {
    this.kill("SIGCONT");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.child.kill("SIGKILL");
    await this.exited;
    await rm(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}
