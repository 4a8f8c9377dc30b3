import { setMaxListeners } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { waitUntil } from "../../src/store/embedded/wait-until.js";
import { Random } from "../simulation/random.js";
import { createTestDatabase } from "../support/postgres.js";
import { monotonicMs } from "./clock.js";
import { openDatabase } from "./database-setup.js";
import type { HistoryEvent } from "./history.js";
import { judge } from "./judgement.js";
import { openLoopback } from "./loopback.js";
import type { NodeTask } from "./node-order.js";
import { nodeSettings, serviceOf, timings } from "./node-settings.js";
import { type Place, placeAt } from "./place.js";
import { PlaceProcess } from "./place-process.js";
import type { Scene, Workload } from "./workload.js";
import { duplicateRequests } from "./workloads/duplicate-requests.js";
import { EventReaders } from "./workloads/event-readers.js";
import { JobLoad } from "./workloads/job-load.js";
import { Lanes } from "./workloads/lanes.js";
import { MllpFeed } from "./workloads/mllp-feed.js";
import { flood, slowClients } from "./workloads/pressure.js";
import { Register } from "./workloads/register.js";
import { RolePolls } from "./workloads/role-polls.js";

const patienceMs = 60_000;
const expected: readonly HistoryEvent["kind"][] = [
  "elected",
  "lost",
  "gate",
  "write",
  "witness",
  "effect",
  "enqueue",
  "delivery",
  "submit",
  "task",
  "job",
  "tick",
  "mllp_sent",
  "mllp_received",
  "poll",
  "stream",
];
const isTakenIn = (event: HistoryEvent): boolean => event.kind === "enqueue" && event.outcome === "done";

const dist = fileURLToPath(new URL("../../dist", import.meta.url));
const batch = 10;

/** Three nodes on one database, a load on them, and what all of them tell. */
class Run implements AsyncDisposable {
  readonly history: HistoryEvent[] = [];
  readonly processes = new Map<string, PlaceProcess>();
  private readonly over = new AbortController();
  private readonly scene: Scene;
  private readonly workloads: readonly Workload[];
  private readonly folder: string;
  private task: Partial<NodeTask> = {};
  private running: Promise<unknown> = Promise.resolve();

  constructor(url: string, token: string, folder: string, workloads: readonly Workload[]) {
    const network = openLoopback();
    const places = ["a", "b", "c"].map((name) => placeAt(name, network.addHost(name).address));
    setMaxListeners(0, this.over.signal);
    this.folder = folder;
    this.workloads = workloads;
    this.scene = {
      places,
      directUrl: () => url,
      token,
      outsideHost: network.outside,
      random: new Random(1),
      log: (event) => this.history.push(event),
      signal: this.over.signal,
    };
  }

  async begin(): Promise<void> {
    const { ttlMs, fenceMs } = timings;
    const shape = { seed: 1, commit: "", minutes: 0, faults: [], ttlMs, fenceMs, batch, longestGapMs: 15_000 };
    this.tell({ kind: "run", ...shape });
    for (const workload of this.workloads) {
      this.task = { ...this.task, ...(await workload.prepare(this.scene)) };
    }
    await Promise.all(this.scene.places.map((place) => this.start(place, 1)));
    this.running = Promise.all(this.workloads.map((workload) => workload.run(this.scene)));
    this.running.catch(() => undefined);
  }

  /** SIGKILL, and another one in its place. */
  async replace(name: string): Promise<void> {
    const before = this.processes.get(name);
    const place = this.scene.places.find((one) => one.name === name);
    if (before === undefined || place === undefined) throw new Error(`Nobody is at ${name}.`);
    const fault = { kind: "fault", fault: "kill", number: 1, on: before.name } as const;
    this.tell({ ...fault, phase: "begin" });
    await before[Symbol.asyncDispose]();
    await this.start(place, 2);
    this.tell({ ...fault, phase: "end" });
  }

  /** The place whose node leads this role, by its own word. */
  async leaderOf(role: string): Promise<string> {
    for (;;) {
      for (const [place, process] of this.processes) {
        const leads = await process.ask<readonly string[]>({ command: "leads" });
        if (leads.includes(role)) return place;
      }
    }
  }

  /** Resolves when there are so many more events for which this holds. */
  async more(count: number, counts: (event: HistoryEvent) => boolean): Promise<void> {
    const before = this.history.length;
    const areThere = (): boolean => this.history.slice(before).filter(counts).length >= count;
    if (!(await waitUntil(areThere, patienceMs))) throw new Error(`Waited in vain for ${count} events.`);
  }

  /** All that clients can do to it at once, while something is taken in. */
  async press(): Promise<void> {
    const over = new AbortController();
    const { signal } = over;
    setMaxListeners(0, signal);
    const pressing = Promise.all([
      flood(this.scene, signal),
      slowClients(this.scene, signal),
      duplicateRequests(this.scene, 1, signal),
    ]);
    try {
      await this.more(5, (event) => event.kind === "submit" && event.key.startsWith("duplicates-1/"));
    } finally {
      over.abort();
      await pressing;
    }
  }

  async end(): Promise<void> {
    this.over.abort();
    await this.running;
    for (const workload of this.workloads) await workload.settle(this.scene);
    for (const process of this.processes.values()) await process.ask({ command: "close" });
    await Promise.all([...this.processes.values()].map(({ exited }) => exited));
    const files = ["a-1", "b-1", "c-1", "a-2", "b-2", "c-2"].map((name) =>
      readFile(join(this.folder, name), "utf8").catch(() => ""),
    );
    const lines = (await Promise.all(files)).flatMap((text) => text.split("\n").filter((line) => line !== ""));
    this.history.push(...lines.map((line) => JSON.parse(line) as HistoryEvent));
    this.history.sort((one, other) => one.at - other.at);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.over.abort();
    await Promise.all([...this.processes.values()].map((process) => process[Symbol.asyncDispose]()));
    for (const workload of this.workloads) await workload[Symbol.asyncDispose]();
    await rm(this.folder, { recursive: true, force: true });
  }

  private tell(event: Record<string, unknown>): void {
    this.history.push({ by: "test", at: monotonicMs(), ...event } as unknown as HistoryEvent);
  }

  private async start(place: Place, number: number): Promise<void> {
    const name = `${place.name}-${number}`;
    const order = {
      name,
      place: place.name,
      dist,
      historyPath: join(this.folder, name),
      logPath: join(this.folder, `${name}.log`),
      settings: nodeSettings(name, place, { url: this.scene.directUrl() }),
      service: serviceOf(place),
      task: this.task,
    };
    const process = new PlaceProcess(order, (command) => command);
    this.processes.set(place.name, process);
    await process.started;
    this.tell({ kind: "process", what: "started", pid: process.pid, by: name });
  }
}

test("every workload tells what it did, through the death of a leader, and no promise is broken", async () => {
  await using database = await createTestDatabase();
  const folder = await mkdtemp(join(tmpdir(), "holdfast-torture-"));
  const token = await openDatabase(database.url, dist);
  const workloads = [
    new Register(),
    new Lanes({ lanes: 20, perSecond: 40, batch }),
    new JobLoad({ perSecond: 5, agents: 2, submitters: 1 }),
    new MllpFeed({ senders: 3, perSecond: 5 }),
    new RolePolls({ everyMs: 200 }),
    new EventReaders({ readers: 1 }),
  ];
  await using run = new Run(database.url, token, folder, workloads);
  await run.begin();
  await run.more(20, isTakenIn);
  await run.replace(await run.leaderOf("writer"));
  await run.more(20, isTakenIn);
  await run.press();
  await run.end();
  const told = new Set(run.history.map(({ kind }) => kind));
  expect([...expected].filter((kind) => !told.has(kind))).toEqual([]);
  const codes = new Set(run.history.flatMap((event) => (event.kind === "rejection" ? [event.code] : [])));
  expect([...codes]).toEqual(expect.arrayContaining(["NOT_LEADER", "UNAUTHORIZED", "INVALID_REQUEST", "NOT_FOUND"]));
  const broken = judge(run.history).flatMap(({ violations }) => violations);
  expect(broken).toEqual([]);
}, 240_000);
