import { waitUntil } from "../../src/store/embedded/wait-until.js";
import { quickCluster, ServeProcess, type ServeSettings } from "../support/serve-process.js";

export interface RoleAnswer {
  readonly node_id: string;
  readonly role: "LEADER" | "STANDBY" | "DRAINING";
  readonly leader_epoch: number | null;
  readonly leader_id: string | null;
  readonly leader_url: string | null;
}

/** A cluster of `holdfast serve` processes on one database. */
export class ServeCluster implements AsyncDisposable {
  readonly nodes: readonly ServeProcess[];

  private constructor(nodes: readonly ServeProcess[]) {
    this.nodes = nodes;
  }

  /** Nodes named a, b, c, ... Resolves when one of them leads and every other knows whom. */
  static async start(storeUrl: string, size: number, settings: ServeSettings = {}): Promise<ServeCluster> {
    const names = Array.from({ length: size }, (_, index) => String.fromCharCode("a".charCodeAt(0) + index));
    const started = await Promise.allSettled(
      names.map((name) =>
        ServeProcess.start({
          settings: { ...quickCluster, "store.url": storeUrl, "cluster.node_id": name, ...settings },
        }),
      ),
    );
    const nodes = started.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
    const cluster = new ServeCluster(nodes);
    const failed = started.find((one) => one.status === "rejected");
    if (failed !== undefined) {
      await cluster[Symbol.asyncDispose]();
      throw failed.reason;
    }
    await cluster.leader();
    return cluster;
  }

  /** The one that answers as leader, once all of these agree who that is. */
  async leader(among: readonly ServeProcess[] = this.nodes): Promise<ServeProcess> {
    let found: ServeProcess | undefined;
    const agreed = await waitUntil(async () => {
      const answers = await Promise.all(among.map((node) => roleOf(node).catch(() => null)));
      const leaders = among.filter((_, index) => answers[index]?.role === "LEADER");
      const names = new Set(answers.map((answer) => answer?.leader_id ?? null));
      found = leaders.length === 1 && names.size === 1 ? leaders[0] : undefined;
      return found !== undefined;
    }, 20_000);
    if (!agreed || found === undefined) {
      throw new Error(`No leader that all agree on:\n${among.map(({ output }) => output).join("\n")}`);
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

export async function roleOf(node: ServeProcess): Promise<RoleAnswer> {
  return await node.read<RoleAnswer>("/role");
}
