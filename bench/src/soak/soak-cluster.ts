import { BenchProcess } from "../bench-process.js";
import { writeGraph } from "../engine/engine-graph.js";
import { roleName } from "../messages.js";
import { descriptorsOf, residentBytesOf } from "../process-memory.js";
import type { BenchServer } from "../server.js";
import type { LoadSample } from "./paced-load.js";

const standbys = 2;
const patienceMs = 180_000;

export const loadNames = ["queue", "jobs", "feed"] as const;
export type LoadName = (typeof loadNames)[number];

/** Three whole nodes, the first of which leads, and whoever gives them work. */
export class SoakCluster {
  private readonly server: BenchServer;
  private readonly nodes: readonly BenchProcess[];
  private readonly loads: Readonly<Record<LoadName, BenchProcess>>;

  private constructor(
    server: BenchServer,
    nodes: readonly [BenchProcess, ...BenchProcess[]],
    { jobs, feed }: { readonly jobs: BenchProcess; readonly feed: BenchProcess },
  ) {
    this.server = server;
    this.nodes = nodes;
    this.loads = { queue: nodes[0], jobs, feed };
  }

  static async start(server: BenchServer): Promise<SoakCluster> {
    const start = (program: "soakNode" | "soakJobs" | "soakFeed", url: string): Promise<BenchProcess> =>
      new BenchProcess(program, url, { execArgv: ["--expose-gc"] }).loaded();
    const feed = await start("soakFeed", "");
    const { ports: receivers } = await feed.ask({ kind: "receive", interfaces: 1 }, "receiving");
    const { folder, ports } = await writeGraph(receivers);
    const [port = 0] = ports;
    const open = async (process: BenchProcess, leads: boolean): Promise<string> =>
      (await process.ask({ kind: "openSoak", folder, port, leads }, "serving", patienceMs)).url;
    const leader = await start("soakNode", server.url);
    const jobs = await start("soakJobs", await open(leader, true));
    const others: BenchProcess[] = [];
    for (let standby = 0; standby < standbys; standby++) {
      const node = await start("soakNode", server.url);
      await open(node, false);
      others.push(node);
    }
    for (const load of [jobs, feed]) await open(load, false);
    return new SoakCluster(server, [leader, ...others], { jobs, feed });
  }

  /** Where the role changes hands meanwhile, that is what is told: whatever else failed came from it. */
  async whileItLeads<Answer>(work: () => Promise<Answer>): Promise<Answer> {
    const before = await this.epoch();
    const [outcome] = await Promise.allSettled([work()]);
    const after = await this.epoch();
    if (after !== before)
      throw new Error(`the role changed hands (epoch ${before}, then ${after}): is the machine busy?`);
    if (outcome.status === "rejected") throw outcome.reason;
    return outcome.value;
  }

  private async epoch(): Promise<string> {
    const { rows } = await this.server.session.query<{ epoch: string }>(
      "select epoch::text from holdfast.leases where role = $1",
      [roleName],
    );
    return rows[0]?.epoch ?? "none";
  }

  async pace(rates: Readonly<Record<LoadName, number>>): Promise<void> {
    await Promise.all(loadNames.map((name) => this.paceOne(name, rates[name])));
  }

  /** At so many a second, or as fast as it goes. */
  async paceOne(name: LoadName, perSecond: number | null): Promise<void> {
    await this.loads[name].ask({ kind: "pace", perSecond }, "running");
  }

  /** Nothing is sent any more, and all that was has arrived. */
  async rest(): Promise<void> {
    await Promise.all(loadNames.map((name) => this.loads[name].ask({ kind: "rest" }, "rested", patienceMs)));
  }

  async sampleLoads(): Promise<Readonly<Record<LoadName, LoadSample>>> {
    const [queue, jobs, feed] = await Promise.all(
      loadNames.map((name) => this.loads[name].ask({ kind: "sampleLoad" }, "loadSampled")),
    );
    if (queue === undefined || jobs === undefined || feed === undefined) throw new Error("a load is missing");
    return { queue, jobs, feed };
  }

  /** What the leader's heap holds after a collection, in MB. */
  async sampleHeap(): Promise<number> {
    return (await this.loads.queue.ask({ kind: "sampleHeap" }, "heapSampled")).bytes / 1e6;
  }

  /** In MB; null where the system does not tell. */
  async sampleRss(): Promise<number | null> {
    const bytes = await residentBytesOf(this.loads.queue.pid);
    return bytes === null ? null : bytes / 1e6;
  }

  /** Of all nodes. */
  async sampleDescriptors(): Promise<number | null> {
    const counts = await Promise.all(this.nodes.map(({ pid }) => descriptorsOf(pid)));
    return counts.reduce((sum, count) => (sum === null || count === null ? null : sum + count), 0);
  }

  async sampleDatabase(): Promise<{ readonly sessions: number; readonly deadTuples: number }> {
    const { rows } = await this.server.session.query<{ sessions: number; dead: number }>(
      `select (select count(*)::integer from pg_stat_activity where backend_type = 'client backend') as sessions,
         (select coalesce(sum(n_dead_tup), 0)::float8 from pg_stat_user_tables) as dead`,
    );
    return { sessions: rows[0]?.sessions ?? 0, deadTuples: rows[0]?.dead ?? 0 };
  }
}
