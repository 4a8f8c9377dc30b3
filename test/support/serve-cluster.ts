import type { RoleAnswer } from "../../src/server/health-answers.js";
import { waitUntil } from "../../src/store/embedded/wait-until.js";
import { quickCluster, ServeProcess, type ServeSettings } from "./serve-process.js";

const patienceMs = 20_000;

export async function roleOf(node: ServeProcess): Promise<RoleAnswer> {
  return await node.read<RoleAnswer>("/role");
}

/** Some `holdfast serve` processes on one database, the first of them leading. */
export class ServeCluster implements AsyncDisposable {
  /** Those that were started. */
  readonly nodes: readonly ServeProcess[];

  private constructor(nodes: readonly ServeProcess[]) {
    this.nodes = nodes;
  }

  /** node-1 leads `scheduler` when this resolves, and the others, node-2 and on, know. */
  static async start(
    databaseUrl: string,
    count: number,
    settings: ServeSettings = {},
    args: readonly string[] = [],
  ): Promise<ServeCluster> {
    const nodes: ServeProcess[] = [];
    const cluster = new ServeCluster(nodes);
    const startNode = async (number: number): Promise<void> => {
      const own = { "store.url": databaseUrl, "cluster.node_id": `node-${number}` };
      nodes[number - 1] = await ServeProcess.start({ args, settings: { ...quickCluster, ...own, ...settings } });
    };
    try {
      await startNode(1);
      await cluster.agree("node-1");
      const others = Array.from({ length: count - 1 }, (_, index) => startNode(index + 2));
      // Each of them has started or failed before any is given up.
      const failed = (await Promise.allSettled(others)).find(({ status }) => status === "rejected");
      if (failed !== undefined) await Promise.all(others);
      await cluster.agree("node-1");
      return cluster;
    } catch (error) {
      await cluster[Symbol.asyncDispose]();
      throw error;
    }
  }

  node(id: string): ServeProcess {
    const node = this.nodes[Number(id.replace("node-", "")) - 1];
    if (node === undefined) throw new Error(`There is no ${id}.`);
    return node;
  }

  /** Resolves when all these nodes name this leader, and no one of them another. */
  async agree(leaderId: string, among: readonly ServeProcess[] = this.nodes): Promise<void> {
    const leader = await this.leader(among, leaderId);
    if (leader !== this.node(leaderId)) throw new Error(`${leaderId} is named as the leader, and another one leads.`);
  }

  /** The one that answers as leader, once all of these agree who that is, and that it is this one where one is named. */
  async leader(among: readonly ServeProcess[] = this.nodes, leaderId?: string): Promise<ServeProcess> {
    let found: ServeProcess | undefined;
    let seen: readonly (RoleAnswer | null)[] = [];
    const agreed = async (): Promise<boolean> => {
      seen = await Promise.all(among.map((node) => roleOf(node).catch(() => null)));
      const leaders = among.filter((_, index) => seen[index]?.role === "LEADER");
      const [name, ...others] = new Set(seen.map((answer) => answer?.leader_id ?? null));
      const oneLeads = leaders.length === 1 && others.length === 0;
      found = oneLeads && (leaderId === undefined || name === leaderId) ? leaders[0] : undefined;
      return found !== undefined;
    };
    await waitUntil(agreed, patienceMs);
    if (found === undefined) {
      const outputs = among.map(({ output }) => output).join("\n");
      throw new Error(`The nodes do not agree on ${leaderId ?? "a leader"}: ${JSON.stringify(seen)}\n${outputs}`);
    }
    return found;
  }

  async standbys(): Promise<readonly ServeProcess[]> {
    const leader = await this.leader();
    return this.nodes.filter((node) => node !== leader);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.nodes.map((node) => node[Symbol.asyncDispose]()));
  }
}
