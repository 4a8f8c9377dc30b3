import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "pg";
import { waitUntil } from "../../src/store/embedded/wait-until.js";
import { quickCluster, ServeProcess } from "./serve-process.js";

const patienceMs = 30_000;
/** A job that is held silently is another's after so long. */
const leaseTtlSeconds = 3;

const crons = `
[[crons]]
name = "secondly"
schedule = "* * * * * *"
op = "tick"
missed = "catch_up"
catch_up_max = 1000
`;

interface Place {
  id: string;
  readonly port: number;
  process: ServeProcess | null;
}

export interface Kill {
  /** Of the leader that was killed. */
  readonly epoch: number;
  readonly at: number;
  readonly electedMs: number;
}

/** Real `holdfast serve` processes on one database. For each that is killed a new one starts, at the same address. */
export class JobsCluster implements AsyncDisposable {
  readonly kills: Kill[] = [];
  private readonly databaseUrl: string;
  private readonly folder: string;
  private readonly client: Client;
  private readonly places: Place[] = [];
  private readonly starting = new Set<Promise<void>>();
  private made = 0;

  private constructor(databaseUrl: string, folder: string) {
    this.databaseUrl = databaseUrl;
    this.folder = folder;
    this.client = new Client({ connectionString: databaseUrl });
  }

  static async start(databaseUrl: string, count: number): Promise<JobsCluster> {
    const folder = await mkdtemp(join(tmpdir(), "holdfast-jobs-"));
    await writeFile(join(folder, "holdfast.toml"), crons);
    const cluster = new JobsCluster(databaseUrl, folder);
    try {
      await cluster.client.connect();
      const ids = Array.from({ length: count }, () => cluster.nextId());
      const started = await Promise.allSettled(ids.map((id) => cluster.place(id)));
      const failed = started.find(({ status }) => status === "rejected") as PromiseRejectedResult | undefined;
      if (failed !== undefined) throw failed.reason;
      await cluster.leader();
      return cluster;
    } catch (error) {
      await cluster[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** The same for as long as it stands. */
  get urls(): readonly string[] {
    return this.places.map(({ port }) => `http://127.0.0.1:${port}`);
  }

  /** The process that holds the lease, as the database says; waits while the one that holds it is dead. */
  async leader(): Promise<{ readonly process: ServeProcess; readonly epoch: number }> {
    let found: { readonly process: ServeProcess; readonly epoch: number } | null = null;
    const isThere = async (): Promise<boolean> => {
      const { rows } = await this.client.query<{ holder: string; epoch: string }>(
        "SELECT holder, epoch FROM holdfast.leases WHERE role = 'scheduler' AND expires_at > clock_timestamp()",
      );
      const process = this.places.find(({ id }) => id === rows[0]?.holder)?.process ?? null;
      found = process === null ? null : { process, epoch: Number(rows[0]?.epoch) };
      return found !== null;
    };
    if (!(await waitUntil(isThere, patienceMs)) || found === null) throw new Error(`Nobody leads.\n${this.story()}`);
    return found;
  }

  /** Resolves when another leads; the new node starts meanwhile. Waits first until there is one who can take over. */
  async killLeader(): Promise<void> {
    const { process, epoch } = await this.leader();
    const place = this.places.find((one) => one.process === process);
    if (place === undefined) throw new Error("The leader is no process of this cluster.");
    const isAnother = (): boolean => this.places.some((one) => one !== place && one.process !== null);
    if (!(await waitUntil(isAnother, patienceMs))) throw new Error(`No other node started.\n${this.story()}`);
    const killedAt = performance.now();
    process.kill("SIGKILL");
    place.process = null;
    await process[Symbol.asyncDispose]();
    this.refill(place);
    const next = await this.leader();
    if (next.epoch <= epoch) throw new Error(`Epoch ${epoch} was killed, and ${next.epoch} leads.`);
    this.kills.push({ epoch, at: killedAt, electedMs: performance.now() - killedAt });
  }

  /** Resolves when all places are taken. Rejects where a node could not be started. */
  async complete(): Promise<void> {
    await Promise.all(this.starting);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.allSettled(this.starting);
    const living = this.places.flatMap(({ process }) => (process === null ? [] : [process]));
    await Promise.all(living.map((process) => process[Symbol.asyncDispose]()));
    await this.client.end();
    await rm(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }

  private async place(id: string): Promise<void> {
    const process = await this.serve(id);
    this.places.push({ id, process, port: Number(new URL(process.url).port) });
  }

  private refill(place: Place): void {
    place.id = this.nextId();
    const started = this.serve(place.id, place.port).then((process) => {
      place.process = process;
      this.starting.delete(started);
    });
    // Whoever waits for the cluster to be complete hears of a failure.
    started.catch(() => undefined);
    this.starting.add(started);
  }

  private nextId(): string {
    this.made += 1;
    return `node-${this.made}`;
  }

  private async serve(id: string, port?: number): Promise<ServeProcess> {
    return await ServeProcess.start({
      cwd: this.folder,
      settings: {
        ...quickCluster,
        "store.url": this.databaseUrl,
        "store.lease_ttl_seconds": leaseTtlSeconds,
        "cluster.node_id": id,
        // Held, lost in a crash or failed on purpose, again and again: none of it may be the end of a job here.
        "jobs.max_attempts": 1_000,
        "jobs.backoff": "50ms",
        ...(port === undefined ? {} : { "api.port": port }),
      },
    });
  }

  private story(): string {
    return this.places.map(({ id, process }) => `${id}:\n${process?.output.slice(-2_000) ?? "is dead"}`).join("\n");
  }
}
