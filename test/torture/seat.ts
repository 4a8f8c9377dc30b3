import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { within } from "../../src/lifecycle/within.js";
import { monotonicMs } from "./clock.js";
import type { HistoryEvent } from "./history.js";
import type { Host, Peer } from "./network.js";
import type { NodeTask } from "./node-order.js";
import { type DatabasePath, nodeSettings, serviceOf } from "./node-settings.js";
import { type Place, placeAt } from "./place.js";
import { PlaceProcess } from "./place-process.js";

export interface SeatOptions {
  readonly name: string;
  readonly host: Host;
  readonly path: DatabasePath;
  /** What its connections to the database go to, at first hand. */
  readonly ways: readonly Peer[];
  readonly env: Readonly<Record<string, string>>;
  readonly dist: string;
  readonly folder: string;
  readonly log: (event: HistoryEvent) => void;
}

const pauseBetweenStartsMs = 250;
const patienceMs = 500;
const graceMs = 20_000;

/** A place with a node in it. A process that ends is followed by another, under a name of its own. */
export class Seat implements AsyncDisposable {
  readonly place: Place;
  readonly host: Host;
  readonly ways: readonly Peer[];
  readonly hasFakeClock: boolean;
  /** Processes that ended by themselves after they had joined: nothing that a fault does may bring that about. */
  readonly collapses: string[] = [];
  private readonly options: SeatOptions;
  private current: PlaceProcess | null = null;
  private reviving: Promise<void> | null = null;
  private task: Partial<NodeTask> = {};
  private made = 0;
  private isClosed = false;

  constructor(options: SeatOptions) {
    this.options = options;
    this.place = placeAt(options.name, options.host.address);
    this.host = options.host;
    this.ways = options.ways;
    this.hasFakeClock = "LD_PRELOAD" in options.env;
  }

  /** Resolves when its first node has joined. */
  async open(task: Partial<NodeTask>): Promise<void> {
    this.task = task;
    await this.revive();
  }

  /** The node that is there now. Between an end and a new beginning it is the one that has ended. */
  get process(): PlaceProcess {
    if (this.current === null) throw new Error(`Nothing was started in ${this.place.name} yet.`);
    return this.current;
  }

  get name(): string {
    return this.process.name;
  }

  async leads(): Promise<readonly string[]> {
    const nothing = (): readonly string[] => [];
    const asked = this.process.ask<readonly string[]>({ command: "leads" }).catch(nothing);
    return await within(patienceMs, asked, nothing);
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
    await within(graceMs, this.current.ask({ command: "close" })).catch(() => undefined);
    await within(graceMs, this.current.exited, () => undefined);
    await this[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.isClosed = true;
    await this.current?.[Symbol.asyncDispose]();
  }

  private async startUntilJoined(): Promise<void> {
    while (!this.isClosed) {
      const node = this.spawn();
      const joined = await node.started.then(
        () => true,
        () => false,
      );
      if (joined) return this.watch(node);
      await node[Symbol.asyncDispose]();
      await pause(pauseBetweenStartsMs);
    }
  }

  private spawn(): PlaceProcess {
    this.made += 1;
    const name = `${this.place.name}-${this.made}`;
    const { path, host, env, dist, folder, log } = this.options;
    const node = new PlaceProcess(
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
      (command) => host.enter(command),
      env,
    );
    this.current = node;
    const { pid } = node;
    log({ by: name, at: monotonicMs(), kind: "process", what: "started", pid });
    void node.exited.then(({ code, signal }) => {
      log({ by: name, at: monotonicMs(), kind: "process", what: "ended", pid, how: signal ?? String(code) });
    });
    return node;
  }

  /** Signals come from faults, which see to what follows. An exit comes from within. */
  private watch(node: PlaceProcess): void {
    void node.exited.then(({ code, signal }) => {
      if (this.isClosed || this.current !== node || signal !== null) return;
      this.collapses.push(`${node.name} ended by itself (${code}): ${lastWords(node)}`);
      void this.revive();
    });
  }
}

function lastWords({ order }: PlaceProcess): string {
  return readFileSync(order.logPath, "utf8").trimEnd().split("\n").at(-1) ?? "";
}
