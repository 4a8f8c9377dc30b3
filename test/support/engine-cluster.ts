import { Client } from "pg";
import { waitUntil } from "../../src/store/embedded/wait-until.js";
import { ConfigFiles, type Files } from "./config-folder.js";
import { heirOf } from "./election.js";
import { type Address, feedFiles, outboundLanes, wards } from "./engine-feed.js";
import type { EngineHistory, Fault } from "./engine-history.js";
import type { EngineLoad } from "./engine-load.js";
import { EngineReceivers } from "./engine-receivers.js";
import { freePort } from "./free-ports.js";
import { openPlaces, type Places } from "./places.js";
import { quickCluster, ServeProcess, type ServeSettings } from "./serve-process.js";

const patienceMs = 30_000;
const stuckMs = 10_000;
const places = [1, 2] as const;
const role = "engine";

/** What the outside saw of a takeover, from the moment of the fault. */
export interface EngineTakeover {
  readonly fault: Fault;
  readonly deliveredMs: number;
}

export interface EngineClusterOptions {
  /** Whether nodes can be cut off. */
  readonly firewall?: boolean;
  /** Further files of the folders; the host is the one that the node binds its ports on. */
  readonly more?: (host: string) => Files;
  /** The timings that Holdfast has by itself, instead of short ones that make takeovers quick. */
  readonly usualTimings?: boolean;
}

/** Two `holdfast serve --config` processes on one database, in places of their own, and the receivers behind them. */
export class EngineCluster implements AsyncDisposable {
  readonly faults: Fault[] = [];
  readonly receivers: EngineReceivers;
  private readonly databaseUrl: string;
  private readonly places: Places;
  private readonly ports: ReadonlyMap<string, number>;
  private readonly client: Client;
  private readonly folders = new Map<number, ConfigFiles>();
  private more: (host: string) => Files = () => ({});
  private timings: ServeSettings = quickCluster;
  private readonly processes = new Map<number, ServeProcess>();

  private constructor(databaseUrl: string, placed: Places, receivers: EngineReceivers, ports: EngineCluster["ports"]) {
    this.databaseUrl = databaseUrl;
    this.places = placed;
    this.receivers = receivers;
    this.ports = ports;
    this.client = new Client({ connectionString: databaseUrl });
  }

  /** One of them leads when this resolves, and the other one is its heir. */
  static async start(
    databaseUrl: string,
    { firewall = false, more, usualTimings = false }: EngineClusterOptions = {},
  ): Promise<EngineCluster> {
    const placed = openPlaces(databaseUrl, { firewall });
    const receivers = await EngineReceivers.listen(new Map(places.map((place) => [place, placed.hostOf(place)])));
    const ports = new Map<string, number>();
    for (const ward of wards) ports.set(ward, await freePort());
    const cluster = new EngineCluster(databaseUrl, placed, receivers, ports);
    cluster.more = more ?? cluster.more;
    if (usualTimings) cluster.timings = { "cluster.enabled": true };
    try {
      await cluster.client.connect();
      // One after the other: on a busy machine each is slow enough by itself to be taken for frozen.
      for (const place of places) await cluster.serve(place);
      await heirOf(databaseUrl, role);
      return cluster;
    } catch (error) {
      await cluster[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Where the node of a place listens for a ward while it leads. */
  addressOf(ward: string, place: number): Address & { readonly place: number } {
    return { place, host: this.places.hostOf(place), port: this.ports.get(ward) ?? 0 };
  }

  /** Both, for a sender that looks by itself for the one who leads. */
  waysTo(ward: string): readonly (Address & { readonly place: number })[] {
    return places.map((place) => this.addressOf(ward, place));
  }

  async leader(): Promise<{ readonly place: number; readonly epoch: number; readonly process: ServeProcess }> {
    let found: { readonly place: number; readonly epoch: number; readonly process: ServeProcess } | null = null;
    const isThere = async (): Promise<boolean> => {
      const { rows } = await this.client.query<{ holder: string; epoch: string }>(
        "SELECT holder, epoch FROM holdfast.leases WHERE role = $1 AND expires_at > clock_timestamp()",
        [role],
      );
      const place = Number(rows[0]?.holder?.replace("node-", ""));
      const process = this.processes.get(place);
      found = process === undefined ? null : { place, epoch: Number(rows[0]?.epoch), process };
      return found !== null;
    };
    if (!(await waitUntil(isThere, patienceMs)) || found === null) throw new Error(`Nobody leads.\n${this.story()}`);
    return found;
  }

  /**
   * Hits the leader, once somebody can take over and what is to be found at work is; resolves when the next one delivers, and all
   * is whole again: the other one is there, and stands by.
   */
  async strike(kind: Fault["kind"], atWork: () => Promise<void>): Promise<EngineTakeover> {
    await heirOf(this.databaseUrl, role, { fresh: true });
    const { place, process } = await this.leader();
    await atWork();
    const fault = { kind, place, at: performance.now() };
    this.faults.push(fault);
    this.begin(fault, process);
    try {
      const first = await this.receivers.firstFromElsewhere(place, fault.at, patienceMs);
      return { fault, deliveredMs: first.at - fault.at };
    } catch (error) {
      throw new Error(`After a ${kind}: ${String(error)}\n${this.story()}`);
    } finally {
      await this.end(fault, process);
    }
  }

  /** Resolves when nothing is left in any lane. It may take as long as it takes, while something arrives. */
  async drained(): Promise<void> {
    let left: readonly unknown[] = [];
    const isEmpty = async (): Promise<boolean> => {
      ({ rows: left } = await this.client.query(
        `SELECT l.stage, l.name, l.done, l.claimed, (SELECT max(position) FROM holdfast.messages m WHERE m.lane = l.id) AS last
         FROM holdfast.lanes l WHERE queue = 'engine'
         AND EXISTS (SELECT FROM holdfast.messages m WHERE m.lane = l.id AND m.position > l.done)`,
      ));
      return left.length === 0;
    };
    for (let before = -1; this.receivers.arrived.length > before; ) {
      before = this.receivers.arrived.length;
      if (await waitUntil(isEmpty, stuckMs)) return;
    }
    throw new Error(`The queue did not drain: ${JSON.stringify(left)}\n${this.story()}`);
  }

  /** What the journal and the dead letters say in the end. */
  async kept(): Promise<{ readonly messages: number; readonly controlIds: number; readonly deadLetters: number }> {
    const { rows } = await this.client.query(
      `SELECT count(*)::integer AS messages, count(DISTINCT control_id)::integer AS "controlIds",
        (SELECT count(*)::integer FROM holdfast.dead_letters) AS "deadLetters" FROM holdfast.engine_messages`,
    );
    return rows[0];
  }

  historyOf({ sent }: EngineLoad): EngineHistory {
    return { sent, arrived: this.receivers.arrived, faults: this.faults, lanes: outboundLanes };
  }

  story(): string {
    return [...this.processes].map(([place, { output }]) => `node-${place}:\n${output.slice(-3_000)}`).join("\n");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.processes.values()].map((process) => process[Symbol.asyncDispose]()));
    await Promise.all([...this.folders.values()].map((folder) => folder[Symbol.asyncDispose]()));
    await this.receivers[Symbol.asyncDispose]();
    await this.client.end();
    this.places[Symbol.dispose]();
  }

  private begin({ kind, place }: Fault, process: ServeProcess): void {
    switch (kind) {
      case "kill":
        return process.kill("SIGKILL");
      case "freeze":
        return process.freeze();
      case "cut_from_database":
        return this.places.cut(place, "database");
      case "cut_off":
        return this.places.cut(place, "everything");
    }
  }

  private async end({ kind, place }: Fault, process: ServeProcess): Promise<void> {
    if (kind === "freeze") process.thaw();
    else if (kind !== "kill") this.places.mend(place);
    else {
      await process[Symbol.asyncDispose]();
      await this.serve(place);
    }
  }

  private async serve(place: number): Promise<void> {
    const folder = this.folders.get(place) ?? (await this.folderOf(place));
    this.folders.set(place, folder);
    const process = await ServeProcess.start({
      args: ["--config", folder.path],
      settings: {
        ...this.timings,
        "store.url": this.places.databaseUrl(place),
        "cluster.node_id": `node-${place}`,
      },
    });
    this.processes.set(place, process);
  }

  private async folderOf(place: number): Promise<ConfigFiles> {
    const inbounds = new Map(wards.map((ward) => [ward, this.addressOf(ward, place)]));
    const plain = new Map([...inbounds].map(([ward, { host, port }]) => [ward, { host, port }]));
    const feed = feedFiles(plain, this.receivers.seenFrom(place));
    return await ConfigFiles.write({ ...feed, ...this.more(this.places.hostOf(place)) });
  }
}
