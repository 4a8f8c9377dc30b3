import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { waitUntil } from "../../src/store/embedded/wait-until.js";
import { withClient } from "../support/postgres.js";
import { copyOnline } from "../support/replica.js";
import { monotonicMs } from "./clock.js";
import { DatabaseServer } from "./database-server.js";
import type { Host, Network } from "./network.js";

const deadlineMs = 30_000;
const port = 5432;

/** The tail that a failover loses: from `lostFrom` on, what was acknowledged may be gone. */
export interface CutTail {
  readonly lostFrom: number;
}

/**
 * A primary and an asynchronous replica, each at a host of its own, behind one shared address. After a failover the old primary is gone
 * for good, and a new replica is copied from the new one in its place.
 */
export class Database implements AsyncDisposable {
  readonly port: number;
  private readonly network: Network;
  private readonly folder: string;
  private readonly hosts: readonly Host[];
  private primaryServer: DatabaseServer;
  private replicaServer: DatabaseServer | null = null;
  private made = 1;
  private adding: Promise<void> = Promise.resolve();
  private isClosed = false;

  private constructor(network: Network, folder: string, hosts: readonly Host[], primary: DatabaseServer) {
    this.network = network;
    this.folder = folder;
    this.hosts = hosts;
    this.primaryServer = primary;
    this.port = port;
  }

  static async start(network: Network, folder: string): Promise<Database> {
    const hosts = [network.addHost("db1"), network.addHost("db2")];
    const [host] = hosts;
    if (host === undefined) throw new Error("There is no host for the database.");
    const ownDisk = network.kind === "namespaces";
    const primary = await DatabaseServer.make({ host, folder: join(folder, "db-1"), port, ownDisk });
    const database = new Database(network, folder, hosts, primary);
    try {
      primary.initialize();
      network.moveShared(host);
      await primary.start({}, database.listenAt(host));
      await withClient(primary.url().replace(/torture$/, "postgres"), async (client) => {
        await client.query("CREATE ROLE app LOGIN PASSWORD 'app'");
        await client.query("CREATE DATABASE torture OWNER app");
      });
      return database;
    } catch (error) {
      await database[Symbol.asyncDispose]();
      throw error;
    }
  }

  get primary(): DatabaseServer {
    return this.primaryServer;
  }

  /** By the shared address, for an administrator. */
  get url(): string {
    return this.primaryServer.url(this.network.shared);
  }

  /** As who owns everything in it; being an administrator at first, it gets in where no connection is left for others. */
  get ownerUrl(): string {
    return `${this.url}?options=${encodeURIComponent("-c role=app")}`;
  }

  /** As the nodes log in, at this address. */
  appUrl(address: string, atPort: number = port): string {
    return `postgres://app:app@${address}:${atPort}/torture`;
  }

  get hasReplica(): boolean {
    return this.replicaServer !== null;
  }

  /** Copies the primary, which goes on meanwhile. */
  async addReplica(): Promise<void> {
    const host = this.hosts.find((one) => one !== this.primaryServer.host) ?? this.primaryServer.host;
    this.made += 1;
    const ownDisk = this.network.kind === "namespaces";
    const replica = await DatabaseServer.make({ host, folder: join(this.folder, `db-${this.made}`), port, ownDisk });
    const name = `replica_${randomBytes(4).toString("hex")}`;
    try {
      const { url, folder } = { url: this.primaryServer.url(), folder: this.primaryServer.folder };
      await copyOnline({ url, dataDir: folder }, replica.folder, name);
      await replica.start({ primary_conninfo: this.conninfo(name), primary_slot_name: name }, this.ownAddress(host));
    } catch (error) {
      await replica[Symbol.asyncDispose]();
      throw error;
    }
    this.replicaServer = replica;
  }

  /** Beside whatever goes on. Where it fails, as when the primary goes away meanwhile, it is tried again until it is there. */
  addReplicaSoon(): void {
    this.adding = this.addReplicaInTheEnd();
  }

  private async addReplicaInTheEnd(): Promise<void> {
    while (!this.isClosed && this.replicaServer === null) {
      try {
        await this.addReplica();
      } catch {
        await pause(500);
      }
    }
  }

  /** From now on nothing of what the primary commits reaches the replica. What was acknowledged before `lostFrom` has. */
  async cutReplication(): Promise<CutTail> {
    const replica = this.theReplica();
    const lostFrom = monotonicMs();
    const lsn = await withClient(this.primaryServer.url(), async (client) => {
      const { rows } = await client.query<{ lsn: string }>("SELECT pg_current_wal_flush_lsn() AS lsn");
      return rows[0]?.lsn;
    });
    const arrived = await withClient(replica.url(), (client) =>
      waitUntil(async () => {
        const { rows } = await client.query<{ there: boolean }>(
          "SELECT pg_last_wal_receive_lsn() >= $1::pg_lsn AS there",
          [lsn],
        );
        return rows[0]?.there ?? false;
      }, deadlineMs),
    );
    if (!arrived) throw new Error(`The replica did not get to ${lsn}.`);
    await replica.configure({ primary_conninfo: "host=127.0.0.1 port=1" });
    return { lostFrom };
  }

  /** The replica takes over. `silently`: as when a whole machine is lost, and nobody tells the clients that their connections ended. */
  async failOver(silently: boolean): Promise<void> {
    const [old, replica] = [this.primaryServer, this.theReplica()];
    if (silently) this.network.moveShared(null);
    await old.kill();
    this.primaryServer = replica;
    this.replicaServer = null;
    if (this.network.kind === "loopback") {
      await replica.stop("fast");
      await replica.start({}, this.listenAt(replica.host));
    }
    await withClient(replica.url(), (client) => client.query("SELECT pg_promote(true, 20)"));
    this.network.moveShared(replica.host);
    await old[Symbol.asyncDispose]();
  }

  /** Starts it again where it ended by itself, as a full disk makes it do. */
  async ensureRunning(): Promise<void> {
    const answers = await waitUntil(async () => {
      // Looked at each time: its end may still be to come.
      if (!this.primaryServer.isRunning) await this.primaryServer.start({}, this.listenAt(this.primaryServer.host));
      return await withClient(this.primaryServer.url(), (client) => client.query("SELECT 1")).then(
        () => true,
        () => false,
      );
    }, deadlineMs);
    if (!answers) throw new Error(`The database does not answer:\n${this.primaryServer.log()}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.isClosed = true;
    await this.adding;
    await this.replicaServer?.[Symbol.asyncDispose]();
    await this.primaryServer[Symbol.asyncDispose]();
  }

  private theReplica(): DatabaseServer {
    if (this.replicaServer === null) throw new Error("There is no replica.");
    return this.replicaServer;
  }

  private conninfo(name: string): string {
    return `host=${this.primaryServer.host.address} port=${port} user=postgres application_name=${name}`;
  }

  /** Where addresses cannot move, a server takes the shared one with its start. */
  private listenAt(host: Host): string {
    return this.network.kind === "namespaces" ? "0.0.0.0" : `${host.address},${this.network.shared}`;
  }

  private ownAddress(host: Host): string {
    return this.network.kind === "namespaces" ? "0.0.0.0" : host.address;
  }
}
