import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { type FakeClock, startFakeClock } from "../support/faketime.js";
import { type PgBouncer, startPgBouncer } from "../support/pgbouncer.js";
import { certificate } from "./certificate.js";
import { Database } from "./database.js";
import { openDatabase } from "./database-setup.js";
import type { HistoryEvent } from "./history.js";
import { openLoopback } from "./loopback.js";
import { openNamespaces } from "./namespaces.js";
import type { Network, Peer } from "./network.js";
import type { NodeTask } from "./node-order.js";
import type { DatabasePath } from "./node-settings.js";
import { Seat } from "./seat.js";
import { startWireProxy, type WireProxy } from "./wire-proxy.js";

export interface ClusterOptions {
  /** The folder of the build that is tried. */
  readonly dist: string;
  readonly folder: string;
  readonly network: Network["kind"];
  /** The first node reaches its database directly, the second its pool through PgBouncer, the third all of it by way of the proxy. */
  readonly size: number;
  readonly log: (event: HistoryEvent) => void;
}

const placeBehindPooler = "b";
export const placeBehindProxy = "c";
const placeWithFakeClock = "b";

interface Parts {
  readonly network: Network;
  readonly database: Database;
  readonly proxy: WireProxy;
  readonly pooler: PgBouncer;
  readonly clock: FakeClock;
  readonly token: string;
}

/** Everything that faults act on: the net, the database, the ways to it, and a node in each place. */
export class Cluster implements AsyncDisposable {
  readonly network: Network;
  readonly database: Database;
  readonly proxy: WireProxy;
  readonly pooler: PgBouncer;
  /** Of one of the nodes. */
  readonly clock: FakeClock;
  /** Of an administrator. */
  readonly token: string;
  readonly seats: readonly Seat[];
  private readonly parts: readonly (AsyncDisposable | Disposable)[];
  private readonly taken = new Set<Seat>();

  private constructor(parts: Parts, seats: readonly Seat[]) {
    this.network = parts.network;
    this.database = parts.database;
    this.proxy = parts.proxy;
    this.pooler = parts.pooler;
    this.clock = parts.clock;
    this.token = parts.token;
    this.seats = seats;
    this.parts = [...seats, parts.pooler, parts.proxy, parts.database, parts.clock, parts.network];
  }

  /** All but the nodes, which `open` starts. */
  static async prepare(options: ClusterOptions): Promise<Cluster> {
    const made: (AsyncDisposable | Disposable)[] = [];
    const keep = <Part extends AsyncDisposable | Disposable>(part: Part): Part => {
      made.unshift(part);
      return part;
    };
    try {
      const network = keep(options.network === "namespaces" ? openNamespaces() : openLoopback());
      const clock = keep(await startFakeClock("within a second"));
      const database = keep(await Database.start(network, options.folder));
      const token = await openDatabase(database.appUrl(network.shared), options.dist, "require");
      const proxy = keep(await startWireProxy(network.outside, { address: network.shared, port: database.port }));
      const pooler = keep(await startPoolerIn(network, database));
      const parts: Parts = { network, database, proxy, pooler, clock, token };
      const seats = ["a", "b", "c", "d", "e"].slice(0, options.size).map((name) => seatOf(name, parts, options));
      return new Cluster(parts, seats);
    } catch (error) {
      for (const part of made) await dispose(part);
      throw error;
    }
  }

  /** Resolves when a node has joined in each place, and the database has a replica. */
  async open(task: Partial<NodeTask>): Promise<void> {
    await Promise.all(this.seats.map((seat) => seat.open(task)));
    await this.database.addReplica();
  }

  seat(name: string): Seat | undefined {
    return this.seats.find(({ place }) => place.name === name);
  }

  /** A place that no other fault has to do with, the first of those given that is free; or else the first of all. */
  take(wanted: readonly Seat[]): Seat {
    const seat = wanted.find((one) => !this.taken.has(one)) ?? wanted[0] ?? this.seats[0];
    if (seat === undefined) throw new Error("There is no place.");
    this.taken.add(seat);
    return seat;
  }

  giveBack(seat: Seat): void {
    this.taken.delete(seat);
  }

  /** In turn, so that the others lead until the last has gone. */
  async close(): Promise<void> {
    for (const seat of this.seats) await seat.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const part of this.parts) await dispose(part);
  }
}

async function startPoolerIn(network: Network, database: Database): Promise<PgBouncer> {
  const tls = { key: certificate.key, certificate: certificate.crt };
  return await startPgBouncer(database.appUrl(network.shared), { ...network.addHost("pool"), tls });
}

function seatOf(name: string, parts: Parts, { dist, folder, log }: ClusterOptions): Seat {
  const { network, database, proxy, pooler, clock } = parts;
  const direct = { address: network.shared, port: database.port };
  const directUrl = database.appUrl(direct.address);
  const tls = "require";
  const pooled = new URL(pooler.through(directUrl));
  const byPlace: Readonly<Record<string, { readonly path: DatabasePath; readonly ways: readonly Peer[] }>> = {
    [placeBehindPooler]: {
      path: { url: pooled.href, electionUrl: directUrl, tls },
      ways: [direct, { address: pooled.hostname, port: Number(pooled.port) }],
    },
    [placeBehindProxy]: { path: { url: database.appUrl(proxy.address, proxy.port), tls }, ways: [proxy] },
  };
  const { path, ways } = byPlace[name] ?? { path: { url: directUrl, tls }, ways: [direct] };
  const nodeFolder = join(folder, "nodes");
  mkdirSync(nodeFolder, { recursive: true });
  const env = name === placeWithFakeClock ? clock.env : {};
  return new Seat({ name, host: network.addHost(name), path, ways, env, dist, folder: nodeFolder, log });
}

/** One part that cannot be ended must not keep the others from it. */
async function dispose(part: AsyncDisposable | Disposable): Promise<void> {
  try {
    if (Symbol.asyncDispose in part) await part[Symbol.asyncDispose]();
    else part[Symbol.dispose]();
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
  }
}
