import { describe, expect, it } from "vitest";
import { createServer } from "../../src/server/serve.js";
import { awayAtOnce, lease, nodeRow, StandInNode, transition } from "./stand-in-node.js";

/** One request to a node that is open, as on a developer's machine. */
async function get(node: StandInNode, url: string) {
  const app = createServer(node);
  try {
    const { statusCode, headers, body } = await app.inject({ url });
    return { status: statusCode, headers, body: JSON.parse(body) as Record<string, unknown> };
  } finally {
    await app.close();
  }
}

async function openNode(options: ConstructorParameters<typeof StandInNode>[0] = {}): Promise<StandInNode> {
  const node = new StandInNode(options);
  await node.access.refresh();
  return node;
}

const nodeKeys = [
  "node_id",
  "host",
  "pid",
  "status",
  "started_at",
  "last_seen",
  "is_leader",
  "ip_address",
  "http_port",
  "url",
  "roles",
  "worker_capabilities",
  "version",
  "current_connections",
  "current_jobs",
  "cpu_usage",
  "memory_usage",
  "load",
  "promotable",
  "config_version",
];

describe("health", () => {
  it("answers without the database", async () => {
    const node = new StandInNode();
    node.trouble = awayAtOnce;
    expect(await get(node, "/health")).toMatchObject({ status: 200, body: { status: "ok" } });
    const { body } = await get(node, "/healthz");
    expect(body).toEqual({ ok: true, role: "LEADER", leader_epoch: 7, leader_id: "node-a" });
  });

  it("says null where no leader is known, and leaves those headers out", async () => {
    const node = await openNode();
    node.stand("STANDBY", "scheduler", null);
    const { body, headers } = await get(node, "/healthz");
    expect(body).toEqual({ ok: true, role: "STANDBY", leader_epoch: null, leader_id: null });
    expect(headers).toMatchObject({ "x-holdfast-node": "node-a", "x-holdfast-role": "STANDBY" });
    expect(headers).not.toHaveProperty("x-holdfast-leader-epoch");
    expect(headers).not.toHaveProperty("x-holdfast-leader-id");
  });

  it("is ready with every check, and 503 with one that fails", async () => {
    const node = await openNode();
    const good = { database: true, migrations: true, registered: true, min_nodes: true, draining: false };
    expect(await get(node, "/ready")).toMatchObject({ status: 200, body: good });
    expect(Object.keys((await get(node, "/ready")).body)).toEqual(Object.keys(good));
    for (const [name, shown] of [
      ["database", "database"],
      ["migrations", "migrations"],
      ["registered", "registered"],
      ["minNodes", "min_nodes"],
    ] as const) {
      node.ready = { ...node.ready, [name]: false };
      expect(await get(node, "/ready")).toMatchObject({ status: 503, body: { [shown]: false } });
      node.ready = { ...node.ready, [name]: true };
    }
    node.ready.draining = true;
    expect(await get(node, "/ready")).toMatchObject({ status: 503, body: { ...good, draining: true } });
  });
});

describe("GET /role", () => {
  it("speaks of the primary role, and of another one that is named", async () => {
    const node = await openNode();
    node.stand("STANDBY", "billing", "node-b");
    expect((await get(node, "/role")).body).toEqual({
      node_id: "node-a",
      role: "LEADER",
      leader_epoch: 7,
      leader_id: "node-a",
      leader_url: "http://node-a:7400",
    });
    expect((await get(node, "/role?role=billing")).body).toEqual({
      node_id: "node-a",
      role: "STANDBY",
      leader_epoch: 7,
      leader_id: "node-b",
      leader_url: "http://node-b:7400",
    });
  });

  it("does not know a role that nobody has", async () => {
    const node = await openNode();
    expect(await get(node, "/role?role=nobody")).toMatchObject({ status: 404, body: { error: "UNKNOWN_ROLE" } });
    expect(await get(node, "/role?rolle=x")).toMatchObject({ status: 422, body: { error: "INVALID_REQUEST" } });
  });

  it("answers for a primary role that this node has not heard of yet", async () => {
    const node = await openNode();
    node.postures.clear();
    expect((await get(node, "/role")).body).toEqual({
      node_id: "node-a",
      role: "STANDBY",
      leader_epoch: null,
      leader_id: null,
      leader_url: null,
    });
  });
});

describe("GET /cluster/status", () => {
  it.each([
    ["LEADER", "node-a", true, "primary"],
    ["STANDBY", "node-b", false, "standby"],
    // It drains, but has not given the role up yet.
    ["DRAINING", "node-a", true, "primary"],
    ["DRAINING", "node-b", false, "standby"],
  ] as const)("of a node that is %s while %s leads", async (posture, leader, isLeader, role) => {
    const node = await openNode();
    node.stand(posture, "scheduler", leader);
    node.trouble = awayAtOnce; // From memory.
    expect((await get(node, "/cluster/status")).body).toEqual({
      node_id: "node-a",
      clustered: true,
      is_leader: isLeader,
      role,
      config_version: 7,
    });
  });

  it("of a single node is its own form", async () => {
    const node = await openNode({ cluster: { enabled: false } });
    node.configVersion = 0;
    expect((await get(node, "/cluster/status")).body).toEqual({
      node_id: "node-a",
      clustered: false,
      is_leader: true,
      role: "single-node",
      config_version: 0,
    });
  });
});

describe("GET /cluster/nodes", () => {
  it("shows every node, the leader of the primary role, and its lease, in seconds", async () => {
    const node = await openNode();
    node.nodes = [nodeRow("node-a"), nodeRow("node-b", { status: "joining", ipAddress: null, url: null })];
    node.leases = [lease("billing", "node-b"), lease("scheduler", "node-a")];
    const { body } = await get(node, "/cluster/nodes");
    expect(Object.keys(body)).toEqual(["nodes", "leader_node_id", "lease_owner", "lease_expires_at"]);
    expect(body).toMatchObject({ leader_node_id: "node-a", lease_owner: "node-a", lease_expires_at: 1_750_000_153.4 });
    const [first, second] = body.nodes as Record<string, unknown>[];
    expect(Object.keys(first ?? {})).toEqual(nodeKeys);
    expect(first).toEqual({
      node_id: "node-a",
      host: "host-of-node-a",
      pid: 4812,
      status: "active",
      started_at: 1_750_000_000,
      last_seen: 1_750_000_123.4,
      is_leader: true,
      ip_address: "10.0.0.5",
      http_port: 7400,
      url: "http://node-a:7400",
      roles: ["gateway"],
      worker_capabilities: ["gpu"],
      version: "0.1.0",
      current_connections: 3,
      current_jobs: 2,
      cpu_usage: 0.5,
      memory_usage: 0.25,
      load: 0.375,
      promotable: true,
      config_version: 7,
    });
    expect(second).toMatchObject({ node_id: "node-b", is_leader: false, ip_address: null, url: null });
  });

  it("means the role that the settings call primary", async () => {
    const node = await openNode({ cluster: { primaryRole: "billing" } });
    node.nodes = [nodeRow("node-a"), nodeRow("node-b")];
    node.leases = [lease("billing", "node-b"), lease("scheduler", "node-a")];
    expect((await get(node, "/cluster/nodes")).body).toMatchObject({ leader_node_id: "node-b", lease_owner: "node-b" });
  });

  it("takes a process that was started under the leader's name for what it is: another one", async () => {
    const node = await openNode();
    node.nodes = [nodeRow("node-a", { incarnation: "new" as never }), nodeRow("node-b")];
    node.leases = [lease("scheduler", "node-a", { incarnation: "old" })];
    const { body } = await get(node, "/cluster/nodes");
    expect(body).toMatchObject({ leader_node_id: null, lease_owner: "node-a" });
    expect((body.nodes as { is_leader: boolean }[]).map((shown) => shown.is_leader)).toEqual([false, false]);
    node.leases = [lease("scheduler", "node-a", { incarnation: "new" })];
    expect((await get(node, "/cluster/nodes")).body).toMatchObject({ leader_node_id: "node-a" });
  });

  it.each(["dead", "left"] as const)("names no leader that is %s, though the lease still does", async (status) => {
    const node = await openNode();
    node.nodes = [nodeRow("node-a", { status }), nodeRow("node-b")];
    node.leases = [lease("scheduler", "node-a")];
    const { body } = await get(node, "/cluster/nodes");
    expect(body).toMatchObject({ leader_node_id: null, lease_owner: "node-a", lease_expires_at: 1_750_000_153.4 });
    expect((body.nodes as { is_leader: boolean }[]).map((one) => one.is_leader)).toEqual([false, false]);
  });

  it("names no leader by a lease that has run out, and no owner of one that was never held", async () => {
    const node = await openNode();
    node.nodes = [nodeRow("node-a")];
    node.leases = [lease("scheduler", "node-a", { remainingMs: 0 })];
    expect((await get(node, "/cluster/nodes")).body).toMatchObject({ leader_node_id: null, lease_owner: "node-a" });
    node.leases = [lease("scheduler", null)];
    expect((await get(node, "/cluster/nodes")).body).toMatchObject({ lease_owner: null, lease_expires_at: null });
    node.leases = [];
    expect((await get(node, "/cluster/nodes")).body).toMatchObject({ lease_owner: null, lease_expires_at: null });
  });

  it("is one synthetic node outside of a cluster, from memory", async () => {
    const node = await openNode({ cluster: { enabled: false } });
    node.trouble = awayAtOnce;
    const { status, body } = await get(node, "/cluster/nodes");
    expect(status).toBe(200);
    expect(body).toMatchObject({ leader_node_id: "node-a", lease_owner: "node-a", lease_expires_at: null });
    const nodes = body.nodes as Record<string, unknown>[];
    expect(nodes).toHaveLength(1);
    expect(Object.keys(nodes[0] ?? {})).toEqual(nodeKeys);
    expect(nodes[0]).toMatchObject({
      node_id: "node-a",
      pid: process.pid,
      status: "active",
      started_at: null,
      last_seen: null,
      is_leader: true,
      current_connections: 4,
      current_jobs: 3,
      cpu_usage: 0.5,
      memory_usage: 0.25,
      load: 0.375,
    });
  });
});

describe("GET /cluster/info", () => {
  it("counts", async () => {
    const node = await openNode({ cluster: { name: "eu-1" } });
    expect((await get(node, "/cluster/info")).body).toEqual({
      name: "eu-1",
      total_nodes: 4,
      active_nodes: 1,
      draining_nodes: 1,
      dead_nodes: 1,
      joining_nodes: 1,
      leaders: { scheduler: "node-a" },
    });
  });
});

describe("GET /cluster/leaders", () => {
  it("shows each role's leader, epoch, lease and tenure, and nobody for a lease that has run out", async () => {
    const node = await openNode();
    node.leases = [lease("scheduler", "node-a"), lease("billing", "node-b", { remainingMs: 0 })];
    expect((await get(node, "/cluster/leaders")).body).toEqual({
      items: [
        {
          role: "billing",
          leader_id: null,
          leader_url: null,
          leader_epoch: 7,
          acquired_at: null,
          lease_expires_at: null,
          lease_remaining_seconds: 0,
          tenure_seconds: null,
        },
        {
          role: "scheduler",
          leader_id: "node-a",
          leader_url: "http://node-a:7400",
          leader_epoch: 7,
          acquired_at: 1_750_000_100,
          lease_expires_at: 1_750_000_153.4,
          lease_remaining_seconds: 3,
          tenure_seconds: 23.4,
        },
      ],
      next_cursor: null,
    });
  });

  it("comes in pages", async () => {
    const node = await openNode();
    node.leases = ["c", "a", "b"].map((role) => lease(role, "node-a"));
    const first = (await get(node, "/cluster/leaders?limit=2")).body;
    expect(first).toMatchObject({ items: [{ role: "a" }, { role: "b" }], next_cursor: "b" });
    const second = (await get(node, "/cluster/leaders?limit=2&cursor=b")).body;
    expect(second).toMatchObject({ items: [{ role: "c" }], next_cursor: null });
  });
});

describe("GET /cluster/history", () => {
  it("shows every transition with its reason and gap, newest first, in pages", async () => {
    const node = await openNode();
    node.transitions = [3, 2, 1].map((id) => transition(id));
    const { body } = await get(node, "/cluster/history?limit=2");
    expect(body).toMatchObject({ items: [{ id: "3" }, { id: "2" }], next_cursor: "2" });
    expect((body.items as unknown[])[0]).toEqual({
      id: "3",
      role: "scheduler",
      epoch: 3,
      event: "elected",
      reason: "crash",
      node_id: "node-a",
      previous_node_id: "node-b",
      gap_seconds: 0.0065,
      at: 1_750_000_000.5,
    });
    const rest = (await get(node, "/cluster/history?limit=2&cursor=2")).body;
    expect(rest).toMatchObject({ items: [{ id: "1" }], next_cursor: null });
  });

  it("of a role that has none yet is empty, and of one that does not exist 404", async () => {
    const node = await openNode();
    node.leases = [lease("billing", null)];
    expect((await get(node, "/cluster/history?role=billing")).body).toEqual({ items: [], next_cursor: null });
    expect(await get(node, "/cluster/history?role=nobody")).toMatchObject({
      status: 404,
      body: { error: "UNKNOWN_ROLE" },
    });
  });

  it.each([
    "limit=0",
    "limit=1001",
    "limit=ten",
    "limit=1.5",
    "limit=",
    "limit=1&limit=2",
    "cursor=x",
    "cursor=1e3",
    "cursor=99999999999999999999",
    "page=2",
  ])("refuses ?%s", async (query) => {
    const node = await openNode();
    expect(await get(node, `/cluster/history?${query}`)).toMatchObject({
      status: 422,
      body: { error: "INVALID_REQUEST" },
    });
  });
});

describe("the database away", () => {
  const reads = ["/cluster/nodes", "/cluster/info", "/cluster/leaders", "/cluster/history", "/tokens", "/audit"];

  it.each(reads)("%s answers 503 and does not repeat what the database said", async (url) => {
    const node = await openNode();
    node.trouble = awayAtOnce;
    const { status, body } = await get(node, url);
    expect(status).toBe(503);
    expect(body).toMatchObject({ error: "DATABASE_AWAY" });
    expect(JSON.stringify(body)).not.toContain("10.1.2.3");
  });

  it.each([...reads, "/metrics/cluster"])("%s does not wait for a database that says nothing", async (url) => {
    const node = await openNode();
    node.trouble = async () => await new Promise<never>(() => undefined);
    const app = createServer(node, { databaseWaitMs: 20 });
    const { statusCode } = await app.inject({ url });
    expect(statusCode).toBe(503);
    await app.close();
  });
});
