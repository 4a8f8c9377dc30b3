import { setMaxListeners } from "node:events";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { within } from "../../src/lifecycle/within.js";
import { waitUntil } from "../../src/store/embedded/wait-until.js";
import { Random } from "../simulation/random.js";
import { monotonicMs } from "./clock.js";
import { openDatabase } from "./database-setup.js";
import type { FaultKind, HistoryEvent } from "./history.js";
import { openLoopback } from "./loopback.js";
import type { NodeTask, Point } from "./node-order.js";
import { nodeSettings, serviceOf, timings } from "./node-settings.js";
import { type Place, placeAt } from "./place.js";
import { PlaceProcess } from "./place-process.js";
import type { Scene, Workload } from "./workload.js";

export interface SmallRunOptions {
  /** Of a database that nobody else uses, empty or migrated. */
  readonly url: string;
  /** The folder of the build that is tried. */
  readonly dist: string;
  readonly size: number;
  readonly workloads: readonly Workload[];
  readonly longestGapMs: number;
  /** Of the queue, as its workload has it. */
  readonly batch: number;
  /** Where nothing promises that all that was taken in is worked off: after so long it is judged as it is. */
  readonly settleMs?: number;
}

/** What is waited for comes on a busy machine, too; what does not come within this never will. */
const patienceMs = 60_000;

/** A few nodes on loopback and one database, a load on them, and what all of them tell: the torture, where one thing is to be shown. */
export class SmallRun implements AsyncDisposable {
  readonly history: HistoryEvent[] = [];
  readonly scene: Scene;
  private readonly options: SmallRunOptions;
  private readonly folder: string;
  private readonly over = new AbortController();
  private readonly nodes = new Map<string, PlaceProcess>();
  private task: Partial<NodeTask> = {};
  private running: Promise<unknown> = Promise.resolve();
  private faults = 0;
  private starts = 0;

  private constructor(options: SmallRunOptions, folder: string, token: string) {
    const network = openLoopback();
    this.options = options;
    this.folder = folder;
    setMaxListeners(0, this.over.signal);
    this.scene = {
      places: ["a", "b", "c"].slice(0, options.size).map((name) => placeAt(name, network.addHost(name).address)),
      directUrl: () => options.url,
      token,
      outsideHost: network.outside,
      random: new Random(1),
      log: (event) => this.history.push(event),
      signal: this.over.signal,
    };
  }

  /** Resolves when every node has joined, and the load is on. */
  static async start(options: SmallRunOptions): Promise<SmallRun> {
    const token = await openDatabase(options.url, options.dist);
    const run = new SmallRun(options, await mkdtemp(join(tmpdir(), "holdfast-small-run-")), token);
    try {
      await run.begin();
    } catch (error) {
      await run[Symbol.asyncDispose]();
      throw error;
    }
    return run;
  }

  private async begin(): Promise<void> {
    const { batch, longestGapMs, workloads } = this.options;
    const { ttlMs, fenceMs } = timings;
    this.tell({ kind: "run", seed: 1, commit: "", minutes: 0, faults: [], ttlMs, fenceMs, batch, longestGapMs });
    for (const workload of workloads) this.task = { ...this.task, ...(await workload.prepare(this.scene)) };
    await Promise.all(this.scene.places.map((place) => this.open(place)));
    this.running = Promise.all(workloads.map((workload) => workload.run(this.scene)));
    this.running.catch(() => undefined);
  }

  /** The node that leads this role by its own word; one of the others, where one is named that it shall not be. */
  async leaderOf(role: string, not?: PlaceProcess): Promise<PlaceProcess> {
    let found: PlaceProcess | undefined;
    const asked = async (): Promise<boolean> => {
      for (const node of this.nodes.values()) {
        if (node === not || !node.isAlive || node.isStopped) continue;
        const leads = await node.ask<readonly string[]>({ command: "leads" }).catch((): readonly string[] => []);
        if (leads.includes(role)) found = node;
      }
      return found !== undefined;
    };
    if (!(await waitUntil(asked, patienceMs)) || found === undefined) throw new Error(`Nobody leads ${role}.`);
    return found;
  }

  /** Resolves when there are so many more events for which this holds, of those that the workloads tell. */
  async more(count: number, counts: (event: HistoryEvent) => boolean): Promise<void> {
    const before = this.history.length;
    const came = await waitUntil(() => this.history.slice(before).filter(counts).length >= count, patienceMs);
    if (!came) throw new Error(`There were not ${count} more events of that kind within ${patienceMs} ms.`);
  }

  /** SIGKILL, at once or at a point of its program; and another node in its place. */
  async kill(node: PlaceProcess, point?: Point): Promise<void> {
    const end = this.fault("kill", node, point);
    if (point === undefined) node.kill("SIGKILL");
    else await node.ask({ command: "at_point", point, signal: "SIGKILL" }).catch(() => undefined);
    await within(patienceMs, node.exited, () => node.kill("SIGKILL"));
    await this.open(this.placeOf(node));
    end();
  }

  /** SIGSTOP at a point of its program, until what is given has come true. */
  async freeze(node: PlaceProcess, point: Point, until: () => Promise<unknown>): Promise<void> {
    await node.ask({ command: "at_point", point, signal: "SIGSTOP" });
    if (!(await waitUntil(() => node.isStopped, patienceMs))) throw new Error(`${node.name} did not come to ${point}.`);
    const end = this.fault("freeze", node, point);
    await until();
    node.kill("SIGCONT");
    end();
  }

  /** It gives the role up, as an operator would have it. */
  async stepDown(node: PlaceProcess, role: string): Promise<void> {
    await node.ask({ command: "step_down", role });
  }

  /** As long as nobody may be without a leader, and a little more. */
  async silence(): Promise<void> {
    await pause(this.options.longestGapMs + 2_000);
  }

  async measure(when: "baseline" | "after"): Promise<void> {
    await Promise.all([...this.nodes.values()].map((node) => node.ask({ command: "resources", when })));
  }

  /** The load ends, all is worked off, the nodes are closed, and what all of them told is one history. */
  async end(): Promise<readonly HistoryEvent[]> {
    const { settleMs } = this.options;
    this.over.abort();
    if (settleMs === undefined) {
      await this.settle();
      await Promise.all([...this.nodes.values()].map(closed));
    } else await within(settleMs, this.settle(), () => undefined).catch(() => undefined);
    await Promise.all([...this.nodes.values()].map((node) => node[Symbol.asyncDispose]()));
    for (const name of await readdir(this.folder)) {
      if (!name.endsWith(".jsonl")) continue;
      const lines = (await readFile(join(this.folder, name), "utf8")).split("\n").filter((line) => line !== "");
      for (const line of lines) this.history.push(JSON.parse(line) as HistoryEvent);
    }
    return this.history.toSorted((one, other) => one.at - other.at);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.over.abort();
    await Promise.all([...this.nodes.values()].map((node) => node[Symbol.asyncDispose]()));
    for (const workload of this.options.workloads) await workload[Symbol.asyncDispose]();
    await rm(this.folder, { recursive: true, force: true });
  }

  private async settle(): Promise<void> {
    await this.running;
    for (const workload of this.options.workloads) await workload.settle(this.scene);
  }

  private fault(fault: FaultKind, node: PlaceProcess, point?: Point): () => void {
    this.faults += 1;
    const event = { kind: "fault", fault, number: this.faults, on: node.order.place, ...(point && { point }) };
    this.tell({ ...event, phase: "begin" });
    return () => this.tell({ ...event, phase: "end" });
  }

  private placeOf({ order }: PlaceProcess): Place {
    const place = this.scene.places.find(({ name }) => name === order.place);
    if (place === undefined) throw new Error(`There is no place ${order.place}.`);
    return place;
  }

  private async open(place: Place): Promise<void> {
    this.starts += 1;
    const name = `${place.name}-${this.starts}`;
    const order = {
      name,
      place: place.name,
      dist: this.options.dist,
      historyPath: join(this.folder, `${name}.jsonl`),
      logPath: join(this.folder, `${name}.log`),
      settings: nodeSettings(name, place, { url: this.options.url }),
      service: serviceOf(place),
      task: this.task,
    };
    const node = new PlaceProcess(order, (command) => command);
    this.nodes.set(place.name, node);
    const { pid } = node;
    this.tell({ kind: "process", what: "started", by: name, pid });
    void node.exited.then(({ signal, code }) =>
      this.tell({ kind: "process", what: "ended", by: name, pid, how: signal ?? String(code) }),
    );
    await node.started;
  }

  private tell(event: Record<string, unknown>): void {
    this.history.push({ by: "run", at: monotonicMs(), ...event } as unknown as HistoryEvent);
  }
}

async function closed(node: PlaceProcess): Promise<void> {
  await node.ask({ command: "close" });
  await node.exited;
}
