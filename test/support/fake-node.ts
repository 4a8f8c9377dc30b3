import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { InfoAnswer, LeaderAnswer, NodeAnswer, TransitionAnswer } from "../../src/server/cluster-answers.js";
import type { RoleAnswer } from "../../src/server/health-answers.js";

/** What a made-up cluster looks like. */
export interface FakeCluster {
  info: InfoAnswer;
  nodes: readonly NodeAnswer[];
  leaders: readonly LeaderAnswer[];
  history: readonly TransitionAnswer[];
}

export function fakeNode(nodeId: string, more: Partial<NodeAnswer> = {}): NodeAnswer {
  return {
    node_id: nodeId,
    host: "host",
    pid: 1,
    status: "active",
    started_at: 1_000,
    last_seen: 1_100,
    is_leader: false,
    ip_address: "127.0.0.1",
    http_port: 7400,
    url: null,
    roles: [],
    worker_capabilities: [],
    version: "1.2.3",
    current_connections: 0,
    current_jobs: 0,
    cpu_usage: 0.1,
    memory_usage: 0.2,
    load: 0.15,
    promotable: true,
    config_version: 1,
    ...more,
  };
}

export function fakeLeader(leaderId: string | null, epoch: number): LeaderAnswer {
  const held = leaderId !== null;
  return {
    role: "scheduler",
    leader_id: leaderId,
    leader_url: null,
    leader_epoch: epoch,
    acquired_at: held ? 1_050 : null,
    lease_expires_at: held ? 1_105 : null,
    lease_remaining_seconds: held ? 4.5 : 0,
    tenure_seconds: held ? 50 : null,
  };
}

function fakeTransition(nodeId: string, epoch: number): TransitionAnswer {
  const id = String(epoch);
  const common = { id, role: "scheduler", epoch, event: "elected", reason: "evidence" } as const;
  return { ...common, node_id: nodeId, previous_node_id: null, gap_seconds: 0.0051, at: 1_050 };
}

export function fakeCluster(nodes: readonly NodeAnswer[], leader: LeaderAnswer): FakeCluster {
  const count = (status: string): number => nodes.filter((node) => node.status === status).length;
  return {
    info: {
      name: "default",
      total_nodes: nodes.length,
      active_nodes: count("active"),
      draining_nodes: count("draining"),
      dead_nodes: count("dead"),
      joining_nodes: count("joining"),
      leaders: leader.leader_id === null ? {} : { scheduler: leader.leader_id },
    },
    nodes,
    leaders: [leader],
    history: leader.leader_id === null ? [] : [fakeTransition(leader.leader_id, leader.leader_epoch)],
  };
}

/** A node's HTTP without a node: it answers whatever the cluster is made to look like. */
export class FakeNodeServer implements AsyncDisposable {
  cluster: FakeCluster;
  readonly url: string;
  /** Each request, and what it had in its Authorization header. */
  readonly heard: { readonly path: string; readonly authorization: string | undefined }[] = [];
  /** What `GET /role` answers. */
  role: () => RoleAnswer | undefined = () => undefined;
  private readonly server: Server;

  private constructor(server: Server, cluster: FakeCluster) {
    this.server = server;
    this.cluster = cluster;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  static async start(cluster: FakeCluster): Promise<FakeNodeServer> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const fake = new FakeNodeServer(server, cluster);
    server.on("request", (request, response) => {
      const path = (request.url ?? "").split("?")[0] ?? "";
      fake.heard.push({ path, authorization: request.headers.authorization });
      const answer = request.method === "POST" ? fake.act(path) : fake.answer(path);
      response.writeHead(answer === undefined ? 404 : 200, {
        "content-type": "application/json",
        "x-holdfast-node": "fake",
      });
      response.end(JSON.stringify(answer ?? { error: "NOT_FOUND", message: "There is nothing here." }));
    });
    return fake;
  }

  /** Whoever asks for something finds it done or not, as the test says. */
  acted = true;

  private act(path: string): unknown {
    const [, , , nodeId = ""] = path.split("/");
    const order = { kind: "drain", role: null, to: null, requested_by: "anyone", requested_at: 1_100 };
    return { request_id: "1", node_id: nodeId, ...order, acted_at: this.acted ? 1_101 : null };
  }

  private answer(path: string): unknown {
    const { info, nodes, leaders, history } = this.cluster;
    const list = (items: readonly unknown[]): unknown => ({ items, next_cursor: null });
    switch (path) {
      case "/role":
        return this.role();
      case "/cluster/info":
        return info;
      case "/cluster/nodes":
        return { nodes, leader_node_id: null, lease_owner: null, lease_expires_at: null };
      case "/cluster/leaders":
        return list(leaders);
      case "/cluster/history":
        return list(history);
      default:
        return undefined;
    }
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise<void>((resolve) => this.server.close(() => resolve()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}
