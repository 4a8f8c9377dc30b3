import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { HistoryEvent } from "./history.js";
import { monotonicMs } from "./monotonic.js";
import type { Host, Peer } from "./network.js";
import type { NodeTask } from "./node-order.js";
import { NodeProcess } from "./node-process.js";
import { type DatabasePath, nodeSettings, serviceOf } from "./node-settings.js";
import { type Place, placeAt } from "./place.js";

export interface SeatOptions {
  readonly name: string;
  readonly host: Host;
  readonly path: DatabasePath;
  /** What it reaches the database at first hand. */
  readonly way: Peer;
  readonly env: Readonly<Record<string, string>>;
  readonly dist: string;
  readonly folder: string;
  readonly log: (event: HistoryEvent) => void;
}

const pauseBetweenStartsMs = 250;
const graceMs = 20_000;

/** A place with a node in it. A process that ends is followed by another, under a name of its own. */
export class Seat implements AsyncDisposable {
  readonly place: Place;
  readonly host: Host;
  readonly way: Peer;
  readonly hasFakeClock: boolean;
  /** Processes that ended by themselves after they had joined: nothing that a fault does may bring that about. */
  readonly collapses: string[] = [];
  private readonly options: SeatOptions;
  private current: NodeProcess | null = null;
  private reviving: Promise<void> | null = null;
  private task: Partial<NodeTask> = {};
  private made = 0;
  private isClosed = false;

  constructor(options: SeatOptions) {
    this.options = options;
    this.place = placeAt(options.name, options.host.address);
    this.host = options.host;
    this.way = options.way;
    this.hasFakeClock = "LD_PRELOAD" in options.env;
  }

  /** Resolves when its first node has joined. */
  async open(task: Partial<NodeTask>): Promise<void> {
    this.task = task;
    await this.revive();
  }

  /** The node that is there now. Between an end and a new beginning it is the one that has ended. */
  get process(): NodeProcess {
    if (this.current === null) throw new Error(`Nothing was started in ${this.place.name} yet.`);
    return this.current;
  }

  get name(): string {
    return this.process.order.name;
  }

  /** Whether a SIGSTOP has taken hold of it. */
  get isStopped(): boolean {
    try {
      return /\) T /.test(readFileSync(`/proc/${this.process.pid}/stat`, "utf8"));
    } catch {
      return false;
    }
  }

  async leads(): Promise<readonly string[]> {
    const answer = await Promise.race([this.process.ask({ command: "leads" }), pause(500).then(() => null)]);
    return answer?.kind === "done" ? (answer.value as readonly string[]) : [];
  }

  /** Starts processes here until one has joined: while the database is away, none can. */
  async revive(): Promise<void> {
    this.reviving ??= this.startUntilJoined().finally(() => {
      this.reviving = null;
    });
    await this.reviving;
  }

  /** Each in order, as an operator would end the run. */
  async close(): Promise<void> {
    this.isClosed = true;
    if (this.current === null) return;
    const left = this.current.ask({ command: "close" });
    await Promise.race([left, pause(graceMs)]);
    await Promise.race([this.current.ended, pause(graceMs)]);
    await this[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.isClosed = true;
    await this.current?.[Symbol.asyncDispose]();
  }

  private async startUntilJoined(): Promise<void> {
    while (!this.isClosed) {
      const node = this.spawn();
      const outcome = await node.started();
      if (outcome === "started") {
        this.watch(node);
        return;
      }
      await node[Symbol.asyncDispose]();
      await pause(pauseBetweenStartsMs);
    }
  }

  private spawn(): NodeProcess {
    this.made += 1;
    const name = `${this.place.name}-${this.made}`;
    const { path, host, env, dist, folder, log } = this.options;
    const node = new NodeProcess(
      {
        name,
        place: this.place.name,
        dist,
        historyPath: join(folder, `${name}.jsonl`),
        logPath: join(folder, `${name}.log`),
        settings: nodeSettings(name, this.place, path),
        service: serviceOf(this.place),
        task: this.task,
      },
      { prefix: host.enter([]), env },
    );
    this.current = node;
    const { pid } = node;
    log({ by: name, at: monotonicMs(), kind: "process", what: "started", pid });
    node.once("exit", (how) => log({ by: name, at: monotonicMs(), kind: "process", what: "ended", pid, how }));
    return node;
  }

  /** Signals come from faults, which see to what follows. An exit comes from within. */
  private watch(node: NodeProcess): void {
    node.once("exit", (how) => {
      if (this.isClosed || this.current !== node || how.startsWith("SIG")) return;
      this.collapses.push(`${node.order.name} ended by itself (${how}): ${this.lastWords(node)}`);
      this.revive().catch(() => undefined);
    });
  }

  private lastWords({ order }: NodeProcess): string {
    return readFileSync(order.logPath, "utf8").trimEnd().split("\n").at(-1) ?? "";
  }
}
