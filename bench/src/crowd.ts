import { setTimeout as pause } from "node:timers/promises";
import { BenchProcess } from "./bench-process.js";
import { Cluster } from "./cluster.js";
import type { BenchServer } from "./server.js";

const crowdPrefix = "standby-";
const countedBeats = 15;
/** The default. */
export const heartbeatMs = 1_000;
const fewStandbys = 2;
/** When a role has changed hands, all who stand by look at it within a tenth of a beat: so long until a crowd has come to rest. */
const restMs = 2 * heartbeatMs;
/** Many nodes that connect to a server which has many already. */
const joiningPatienceMs = 180_000;

/**
 * Many nodes that share a few processes, each with sessions of its own and fit to lead. One of them takes over at each crash, and
 * hands the role to a node in a process of its own, which is the next to be killed.
 */
export class Crowd {
  readonly schema: string;
  private readonly server: BenchServer;
  private readonly cluster: Cluster;
  private readonly hosts: BenchProcess[] = [];
  private standbys = 0;

  constructor(server: BenchServer, schema: string) {
    this.server = server;
    this.schema = schema;
    this.cluster = new Cluster(server, { schema, standbys: 0 });
  }

  get size(): number {
    return this.standbys;
  }

  get processes(): readonly BenchProcess[] {
    return this.hosts;
  }

  /** The leader is there first, in a process of its own. */
  async open(): Promise<void> {
    await this.cluster.fill();
  }

  /** So many more standbys, all in one process. */
  async join(standbys: number): Promise<void> {
    const host = new BenchProcess("nodes", this.server.url);
    this.hosts.push(host);
    const name = this.hosts.length;
    const nodeIds = Array.from({ length: standbys }, (_, node) => `${crowdPrefix}${name}-${node}`);
    this.standbys += standbys;
    await this.cluster.joinIn(await host.loaded(), nodeIds, joiningPatienceMs);
  }

  /** Without those that came last. */
  async dropLast(standbys: number): Promise<void> {
    const host = this.hosts.pop();
    if (host === undefined) return;
    this.cluster.removeAll(host);
    this.standbys -= standbys;
    await this.cluster.settled();
  }

  async settled(): Promise<void> {
    await this.cluster.settled();
  }

  /** As the server counts them, over some beats at rest: all that any node sent, the leader's and the heir's too. */
  async statementsPerBeat(): Promise<number> {
    // The pools that the nodes joined with close their idle connections meanwhile.
    const { session } = this.server;
    await session.query("select pg_stat_statements_reset()");
    const from = performance.now();
    await pause(countedBeats * heartbeatMs);
    const { rows } = await session.query<{ calls: number }>(
      "select sum(calls)::float8 as calls from pg_stat_statements where query not like '%pg_stat_statements%'",
    );
    const beats = (performance.now() - from) / heartbeatMs;
    return (rows[0]?.calls ?? 0) / beats / this.standbys;
  }

  /** Of a cluster at rest; or of one that has elected another leader within the last second, and is busy with that. */
  async crashes(
    rounds: number,
    after: (round: number, times: readonly number[]) => void,
    { atRest = true }: { readonly atRest?: boolean } = {},
  ): Promise<readonly number[]> {
    const times: number[] = [];
    for (let round = 1; round <= rounds; round++) {
      await this.leadApart();
      if (atRest) await pause(restMs);
      await this.cluster.pauseAnywhere();
      times.push((await this.cluster.crash()).ms);
      after(round, times);
    }
    return times;
  }

  /** Who leads among the many hands the role to a node in a process of its own: to kill theirs would end more than a leader. */
  private async leadApart(): Promise<void> {
    const { leader } = await this.cluster.settled();
    if (!leader.startsWith(crowdPrefix)) return;
    const successor = await this.cluster.join();
    await this.cluster.known(successor);
    await this.cluster.stepDown(successor);
    await this.cluster.settled();
  }

  async close(): Promise<void> {
    await this.cluster.close();
  }
}

/** Crashes of a leader with two standbys, each in a process of its own, at rest. */
export async function crashesOfFew(server: BenchServer, rounds: number): Promise<readonly number[]> {
  const cluster = new Cluster(server, { schema: "few", standbys: fewStandbys });
  const times: number[] = [];
  for (let round = 1; round <= rounds; round++) {
    await cluster.fill();
    await cluster.settled();
    await pause(restMs);
    await cluster.pauseAnywhere();
    times.push((await cluster.crash()).ms);
  }
  await cluster.close();
  return times;
}
