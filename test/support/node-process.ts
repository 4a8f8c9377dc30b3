import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { NodeOptions } from "../../src/node.js";

const script = fileURLToPath(new URL("node-process.mjs", import.meta.url));
const deadlineMs = 20_000;

export interface RoleOrder {
  readonly name: string;
  /** What its lead function does: nothing, fail, or never end whatever its signal says. */
  readonly work: "idle" | "throws" | "stubborn";
}

export interface NodeProcessOptions {
  readonly settings: NodeOptions;
  /** Default: one role, "scheduler", with nothing to do. */
  readonly roles?: readonly RoleOrder[];
  readonly env?: Readonly<Record<string, string>>;
}

/** What a node process reports. `at` is CLOCK_MONOTONIC in nanoseconds. */
export interface Report {
  readonly kind:
    | "started"
    | "failed"
    | "elected"
    | "lost"
    | "changed"
    | "gate"
    | "log"
    | "written"
    | "loadEnded"
    | "uncaught"
    | "reply";
  readonly at: bigint;
  readonly role?: string;
  readonly epoch?: bigint;
  readonly reason?: string;
  readonly leaderId?: string | null;
  readonly nodeId?: string;
  readonly open?: boolean;
  readonly code?: string;
  readonly message?: string;
  readonly line?: { readonly msg: string; readonly reason?: string; readonly [field: string]: unknown };
}

/** A moment at which a process saw its gate open: somewhere between `before` and `after`. */
export interface Act {
  readonly role: string;
  readonly epoch: bigint;
  readonly before: bigint;
  readonly after: bigint;
}

/** The code that a command of a node process failed with. */
class CommandError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.name = "CommandError";
    this.code = code;
  }
}

/** A node in a process of its own. Disposing kills it, frozen or not. */
export class NodeProcess implements AsyncDisposable {
  readonly reports: Report[] = [];
  readonly pid: number;
  readonly exited: Promise<unknown>;
  private readonly child: ChildProcess;
  private readonly folder: string;
  private readonly watchers = new Set<() => void>();
  private readonly replies = new Map<
    number,
    (reply: { value?: unknown; error?: { code: string; message: string } }) => void
  >();
  private nextId = 1;
  private name = "";

  private constructor(child: ChildProcess, folder: string) {
    this.child = child;
    this.folder = folder;
    this.pid = child.pid ?? 0;
    this.exited = once(child, "exit");
    child.on("message", (message) => this.take(message as Record<string, unknown>));
  }

  /** Resolves when the node has joined. */
  static async start(options: NodeProcessOptions): Promise<NodeProcess> {
    const node = await NodeProcess.spawn(options);
    try {
      const { nodeId } = await node.said("started");
      node.name = nodeId ?? "";
      return node;
    } catch (error) {
      await node[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Does not wait for the start, which may be meant to fail or to take long. */
  static async spawn({
    settings,
    roles = [{ name: "scheduler", work: "idle" }],
    env = {},
  }: NodeProcessOptions): Promise<NodeProcess> {
    const folder = await mkdtemp(join(tmpdir(), "holdfast-node-"));
    const order = JSON.stringify({ settings, roles, actsPath: join(folder, "acts") });
    const child = spawn(process.execPath, [script, order], {
      stdio: ["ignore", "inherit", "inherit", "ipc"],
      env: { ...process.env, ...env },
    });
    return new NodeProcess(child, folder);
  }

  get id(): string {
    return this.name;
  }

  /** The first report of this kind, said already or still to come, that the condition holds for. */
  async said(kind: Report["kind"], condition: (report: Report) => boolean = () => true): Promise<Report> {
    const find = () => this.reports.find((report) => report.kind === kind && condition(report));
    const failed = () => (kind === "failed" ? undefined : this.reports.find((report) => report.kind === "failed"));
    return await new Promise((resolve, reject) => {
      const settle = (act: () => void): void => {
        this.watchers.delete(look);
        clearTimeout(timer);
        act();
      };
      const look = (): void => {
        const found = find();
        const failure = failed();
        if (found !== undefined) settle(() => resolve(found));
        else if (failure !== undefined)
          settle(() => reject(new CommandError(failure.code ?? "", failure.message ?? "")));
      };
      const timer = setTimeout(
        () => settle(() => reject(new Error(`Node "${this.id}" did not say "${kind}":\n${this.story()}`))),
        deadlineMs,
      );
      this.watchers.add(look);
      look();
    });
  }

  /** The log line with this beginning. */
  logged(beginning: string): Promise<Report> {
    return this.said("log", ({ line }) => line?.msg.startsWith(beginning) === true);
  }

  async ask<Value = void>(command: string, order: Readonly<Record<string, unknown>> = {}): Promise<Value> {
    const id = this.nextId++;
    const reply = new Promise<{ value?: unknown; error?: { code: string; message: string } }>((resolve) => {
      this.replies.set(id, resolve);
    });
    this.child.send({ role: "scheduler", ...order, id, command });
    const { value, error } = await reply;
    if (error !== undefined) throw new CommandError(error.code, error.message);
    return value as Value;
  }

  /** Returns the moment before the signal was sent. */
  kill(signal: NodeJS.Signals): bigint {
    const at = process.hrtime.bigint();
    process.kill(this.pid, signal);
    return at;
  }

  async acts(): Promise<readonly Act[]> {
    const text = await readFile(join(this.folder, "acts"), "utf8");
    return text
      .split("\n")
      .slice(0, -1)
      .map((line) => {
        const [role = "", epoch = "", before = "", after = ""] = line.split(" ");
        return { role, epoch: BigInt(epoch), before: BigInt(before), after: BigInt(after) };
      });
  }

  /** All that it reported, for the message of a failed test. */
  story(): string {
    return this.reports
      .map(({ at, ...rest }) =>
        JSON.stringify({ ms: Number(at / 1000n) / 1000, ...rest }, (_key, value: unknown) =>
          typeof value === "bigint" ? value.toString() : value,
        ),
      )
      .join("\n");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.child.kill("SIGKILL");
    await this.exited;
    await rm(this.folder, { recursive: true, force: true });
  }

  private take(message: Record<string, unknown>): void {
    const { at, epoch, ...rest } = message as { readonly at: string; readonly epoch?: string };
    const report = {
      ...rest,
      at: BigInt(at),
      ...(epoch === undefined ? {} : { epoch: BigInt(epoch) }),
    } as unknown as Report;
    if (report.kind === "reply") {
      const { id } = message as { id: number };
      this.replies.get(id)?.(message);
      this.replies.delete(id);
      return;
    }
    this.reports.push(report);
    for (const look of this.watchers) look();
  }
}
