import { waitUntil } from "../../src/store/embedded/wait-until.js";
import { quickCluster, ServeProcess, type ServeSettings } from "./serve-process.js";

interface RoleAnswer {
  readonly role: string;
  readonly leader_id: string | null;
  readonly leader_epoch: number | null;
}

/** Some `holdfast serve` processes on one database, the first of them leading. */
export class ServeCluster implements AsyncDisposable {
  readonly nodes: readonly ServeProcess[];

  private constructor(nodes: readonly ServeProcess[]) {
    this.nodes = nodes;
  }

  /** node-1 leads `scheduler` when this resolves, and the others know. */
  static async start(databaseUrl: string, count: number, settings: ServeSettings = {}): Promise<ServeCluster> {
    const nodes: ServeProcess[] = [];
    const cluster = new ServeCluster(nodes);
    try {
      for (let number = 1; number <= count; number += 1) {
        const own = { "store.url": databaseUrl, "cluster.node_id": `node-${number}` };
        nodes.push(await ServeProcess.start({ settings: { ...quickCluster, ...own, ...settings } }));
        if (number === 1) await cluster.agree("node-1");
      }
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
    let seen: readonly (string | null)[] = [];
    const agreed = async (): Promise<boolean> => {
      const answers = among.map((node) => node.read<RoleAnswer>("/role").then(({ leader_id }) => leader_id));
      seen = await Promise.all(answers.map((answer) => answer.catch(() => null)));
      return seen.every((each) => each === leaderId);
    };
    const inTime = await waitUntil(agreed, 20_000);
    if (!inTime) throw new Error(`The nodes do not agree on ${leaderId}: they say ${JSON.stringify(seen)}.`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.nodes.map((node) => node[Symbol.asyncDispose]()));
  }
}
