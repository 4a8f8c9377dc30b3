import { describe, test } from "vitest";
import { createTestDatabase, withClient } from "../support/postgres.js";
import { roleOf, ServeCluster } from "../support/serve-cluster.js";
import { quickCluster, ServeProcess } from "../support/serve-process.js";
import { type ServerEvent, ServerEvents } from "../support/server-events.js";

interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

async function ask(node: ServeProcess, method: string, path: string, body?: object): Promise<Answer> {
  const headers = { "content-type": "application/json" };
  const given = body === undefined ? {} : { body: JSON.stringify(body), headers };
  const answer = await fetch(`${node.url}${path}`, { method, ...given });
  const text = await answer.text();
  return { status: answer.status, body: (text === "" ? {} : JSON.parse(text)) as Record<string, unknown> };
}

/** Submits a job and leases it to the agent: what a result for it has to name. */
async function leased(leader: ServeProcess, jobId: string, agent = "agent-1") {
  await ask(leader, "POST", "/v1/jobs", { op: "resize", job_id: jobId });
  const { body } = await ask(leader, "POST", "/v1/leases", { agent, max_tasks: 1, timeout_ms: 10_000 });
  const { lease_id, tasks } = body as { lease_id: string; tasks: { job_id: string; job_epoch: number }[] };
  return { lease_id, job_id: tasks[0]?.job_id, job_epoch: tasks[0]?.job_epoch, agent, status: "succeeded" };
}

const jobOf = async (node: ServeProcess, jobId: string) => (await ask(node, "GET", `/v1/jobs/${jobId}`)).body;

/** The rules that a node-controller must keep about jobs, each against real processes. */
describe("a node-controller conforms about jobs", () => {
  test.concurrent("4. an old leader cannot commit results after it has lost leadership (N3, N13)", async ({
    expect,
  }) => {
    await using database = await createTestDatabase();
    await using cluster = await ServeCluster.start(database.url, 2);
    const old = await cluster.leader();
    const told = await leased(old, "job");
    old.freeze();
    const late = ask(old, "POST", "/v1/results", { ...told, result: "of the old leader" });
    const next = await cluster.leader(cluster.nodes.filter((node) => node !== old));
    const before = await jobOf(next, "job");
    old.thaw();
    expect((await late).status).toBe(409);
    expect((await late).body.error).toMatch(/^(NOT_LEADER|STALE_EPOCH)$/);
    expect(await jobOf(next, "job")).toEqual(before);
    // Whoever states the old term is told so, and whoever writes under it is refused by the database itself.
    const stale = { error: "STALE_EPOCH", alias: "STALE_LEASE", field: "leader_epoch", expected: 2, got: 1 };
    expect(await ask(next, "POST", "/v1/results", { ...told, leader_epoch: 1 })).toEqual({ status: 409, body: stale });
    await withClient(database.url, async (client) => {
      await expect(client.query("select holdfast.assert_epoch('scheduler', 1)")).rejects.toMatchObject({
        code: "HF001",
      });
    });
    // The lease survives the failover: its epoch judges.
    expect(await ask(next, "POST", "/v1/results", told)).toMatchObject({ status: 200, body: { state: "succeeded" } });
    expect(await jobOf(next, "job")).toMatchObject({ leader_epoch: 2, result: null });
  });

  test.concurrent("5. job_epoch rejects stale work, and the same result twice is accepted once (N14, N15)", async ({
    expect,
  }) => {
    await using database = await createTestDatabase();
    await using cluster = await ServeCluster.start(database.url, 1);
    const leader = await cluster.leader();
    const first = await leased(leader, "job", "agent-1");
    expect(first.job_epoch).toBe(1);
    const { job_epoch: _left, ...without } = first;
    expect(await ask(leader, "POST", "/v1/results", without)).toMatchObject({ status: 422 });
    await ask(leader, "POST", `/v1/leases/${first.lease_id}/give-back`, { agent: "agent-1" });
    const wish = { agent: "agent-2", max_tasks: 1, timeout_ms: 10_000 };
    const { body } = await ask(leader, "POST", "/v1/leases", wish);
    const before = await jobOf(leader, "job");
    expect(before).toMatchObject({ state: "leased", agent: "agent-2", job_epoch: 2 });
    const stale = { error: "STALE_EPOCH", alias: "STALE_LEASE", field: "job_epoch", expected: 2, got: 1 };
    expect(await ask(leader, "POST", "/v1/results", first)).toEqual({ status: 409, body: stale });
    expect((await ask(leader, "POST", `/v1/leases/${first.lease_id}/renew`, { agent: "agent-1" })).status).toBe(404);
    expect(await jobOf(leader, "job")).toEqual(before);
    const second = { ...first, lease_id: body.lease_id, job_epoch: 2, agent: "agent-2" };
    expect((await ask(leader, "POST", "/v1/results", second)).body).toMatchObject({ repeated: false });
    expect((await ask(leader, "POST", "/v1/results", second)).body).toMatchObject({ repeated: true });
    const metrics = await (await fetch(`${leader.url}/metrics`)).text();
    expect(metrics).toContain("holdfast_job_stale_results_total 1");
  });

  test.concurrent("every mutation records leader_epoch: jobs, leases, results and deleted agents (N2, N12)", async ({
    expect,
  }) => {
    await using database = await createTestDatabase();
    await using cluster = await ServeCluster.start(database.url, 2);
    const first = await cluster.leader();
    const epochOf = async (node: ServeProcess, id: string) => (await jobOf(node, id)).leader_epoch;
    const told = await leased(first, "leased");
    await ask(first, "POST", "/v1/jobs", { op: "other", job_id: "queued", namespace: "n" });
    await ask(first, "POST", "/v1/agents/heartbeat", { agent: "agent-1", registers: true });
    first.kill("SIGKILL");
    const next = await cluster.leader(cluster.nodes.filter((node) => node !== first));
    expect([await epochOf(next, "leased"), await epochOf(next, "queued")]).toEqual([1, 1]);
    expect((await ask(next, "POST", "/v1/results", told)).status).toBe(200);
    await ask(next, "POST", "/v1/leases", { agent: "agent-1", namespace: "n", max_tasks: 1, timeout_ms: 10_000 });
    expect((await ask(next, "POST", "/v1/jobs", { op: "x", job_id: "new", namespace: "m" })).body.leader_epoch).toBe(2);
    const all = await Promise.all(["leased", "queued", "new"].map((id) => epochOf(next, id)));
    expect(all).toEqual([2, 2, 2]);
    expect((await ask(next, "DELETE", "/v1/agents/agent-1")).status).toBe(200);
    await withClient(database.url, async (client) => {
      const { rows } = await client.query("select leader_epoch::int from holdfast.agents where deleted_at is not null");
      expect(rows).toEqual([{ leader_epoch: 2 }]);
    });
  });

  test.concurrent("a leader that drains issues no leases, takes results of its term, and steps down", async ({
    expect,
  }) => {
    await using database = await createTestDatabase();
    await using cluster = await ServeCluster.start(database.url, 2, { "jobs.drain_grace_seconds": 20 });
    const leader = await cluster.leader();
    const told = await leased(leader, "job");
    const steppedDown = ask(leader, "POST", "/cluster/leaders/scheduler/step-down", {});
    await expect.poll(async () => (await roleOf(leader)).role).toBe("DRAINING");
    const draining = { status: 503, body: { error: "DRAINING" } };
    expect(await ask(leader, "POST", "/v1/leases", { agent: "agent-1", timeout_ms: 0 })).toMatchObject(draining);
    expect(await ask(leader, "POST", "/v1/jobs", { op: "x" })).toMatchObject(draining);
    expect(await ask(leader, "POST", "/v1/results", told)).toMatchObject({ status: 200, body: { state: "succeeded" } });
    expect((await steppedDown).status).toBe(200);
    expect((await roleOf(leader)).role).toBe("STANDBY");
  });

  test.concurrent("a standby serves jobs, agents and events with its role, and tells every event over a crash (N5, N8)", async ({
    expect,
  }) => {
    await using database = await createTestDatabase();
    await using cluster = await ServeCluster.start(database.url, 2);
    const leader = await cluster.leader();
    const [standby] = (await cluster.standbys()) as [ServeProcess];
    await using events = await ServerEvents.open(standby.url);
    const seen: ServerEvent[] = [];
    const until = async (jobId: string) => {
      for (;;) {
        const event = await events.next();
        if (event === null) throw new Error("the stream ended");
        seen.push(event);
        if (event.data.job_id === jobId) return;
      }
    };
    expect(await events.next()).toMatchObject({ event: "hello" });
    for (const id of ["a", "b", "c"]) await ask(leader, "POST", "/v1/jobs", { op: "x", job_id: id });
    await until("c");
    for (const path of ["/v1/jobs", "/v1/jobs/a", "/v1/agents", "/healthz", "/role"]) {
      const answer = await fetch(`${standby.url}${path}`);
      expect([path, answer.status]).toEqual([path, 200]);
      expect(answer.headers.get("x-holdfast-role")).toBe("STANDBY");
      expect(answer.headers.get("x-holdfast-leader-epoch")).toBe("1");
    }
    expect(events.headers.get("x-holdfast-role")).toBe("STANDBY");
    leader.kill("SIGKILL");
    await cluster.leader([standby]);
    for (const id of ["d", "e"]) await ask(standby, "POST", "/v1/jobs", { op: "x", job_id: id });
    await until("e");
    expect(seen.map(({ data }) => data.job_id)).toEqual(["a", "b", "c", "d", "e"]);
    const numbers = seen.map(({ id }) => Number(id.split("-").at(-1)));
    expect(numbers).toEqual(numbers.map((_, index) => (numbers[0] ?? 0) + index));
    expect(new Set(seen.map(({ data }) => data.leader_epoch))).toEqual(new Set([1, 2]));
  });

  // After the others: so many processes at a time are enough.
  test("a leader that crashed and comes back under its name stands by, says so, and is fenced (N7, N11)", {
    timeout: 60_000,
  }, async ({ expect }) => {
    await using database = await createTestDatabase();
    await using cluster = await ServeCluster.start(database.url, 2);
    const old = await cluster.leader();
    const told = await leased(old, "job");
    const { node_id } = await roleOf(old);
    old.kill("SIGKILL");
    const next = await cluster.leader(cluster.nodes.filter((node) => node !== old));
    const settings = { ...quickCluster, "store.url": database.url, "cluster.node_id": node_id };
    await using back = await ServeProcess.start({ settings });
    const leads = { leader_epoch: 2, leader_id: (await roleOf(next)).node_id, leader_url: next.url };
    await expect.poll(() => roleOf(back)).toEqual({ node_id, role: "STANDBY", ...leads });
    expect(await roleOf(next)).toEqual({ node_id: leads.leader_id, role: "LEADER", ...leads });
    const before = await jobOf(next, "job");
    expect(await ask(back, "POST", "/v1/results", told)).toEqual({
      status: 409,
      body: { error: "NOT_LEADER", ...leads, node_id, role: "STANDBY" },
    });
    await withClient(database.url, async (client) => {
      const write = client.query("select holdfast.assert_epoch('scheduler', 1)");
      await expect(write).rejects.toMatchObject({ code: "HF001" });
    });
    expect(await jobOf(next, "job")).toEqual(before);
  });
});
