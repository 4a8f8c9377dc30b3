import { describe, test } from "vitest";
import { heirOf } from "../support/election.js";
import { createTestDatabase, withClient } from "../support/postgres.js";
import { roleOf, ServeCluster } from "../support/serve-cluster.js";
import { patientCluster } from "../support/serve-process.js";

/** The rules that a node-controller must keep, each against real processes. Those about jobs: node-controller-jobs.test.ts. */
describe("a node-controller conforms", () => {
  test.concurrent("1. a standby rejects mutating endpoints with 409 NOT_LEADER, whatever the body (N6, N9, N10)", async ({
    expect,
  }) => {
    await using database = await createTestDatabase();
    await using cluster = await ServeCluster.start(database.url, 2, patientCluster);
    const leader = await cluster.leader();
    const [standby] = await cluster.standbys();
    const { leader_epoch, leader_id } = await roleOf(leader);
    const refusal = {
      error: "NOT_LEADER",
      leader_id,
      leader_url: leader.url,
      leader_epoch,
      node_id: (await roleOf(standby as never)).node_id,
      role: "STANDBY",
    };
    const json = { "content-type": "application/json" };
    const calls = [
      ["POST", "/v1/jobs", '{"op":"x","payload":{}}', json],
      ["POST", "/v1/jobs", "this is not JSON", json],
      ["POST", "/v1/leases", "{}", json],
      ["POST", "/v1/results", "", {}],
      ["DELETE", "/v1/agents/one", null, {}],
      ["PUT", "/v1/anything", "x", { "content-type": "text/plain" }],
    ] as const;
    for (const [method, path, body, headers] of calls) {
      const answer = await fetch(`${standby?.url}${path}`, { method, body, headers });
      expect(answer.status, `${method} ${path}`).toBe(409);
      expect(await answer.json()).toEqual(refusal);
      expect(answer.headers.get("x-holdfast-role")).toBe("STANDBY");
      expect(answer.headers.get("x-holdfast-leader-epoch")).toBe(String(leader_epoch));
    }
    // Reads are served by both, with the same account of who leads.
    for (const node of cluster.nodes) {
      expect(await roleOf(node)).toMatchObject({ leader_id, leader_epoch, leader_url: leader.url });
      expect(await node.read("/healthz")).toMatchObject({ ok: true, leader_id, leader_epoch });
    }
  });

  test.concurrent("2. only one node holds the leader's lock, and nobody else gets it (N1)", async ({ expect }) => {
    await using database = await createTestDatabase();
    await using cluster = await ServeCluster.start(database.url, 3, patientCluster);
    await cluster.leader();
    await withClient(database.url, async (client) => {
      const { rows } = await client.query<{ holders: string[]; tried: boolean; named: boolean }>(
        `SELECT array_agg(l.pid) AS holders, pg_try_advisory_lock(s.lock_key) AS tried,
           bool_and(split_part(s.lock_session, '@', 1)::int = l.pid) AS named
         FROM holdfast.leases s
         JOIN pg_locks l ON l.locktype = 'advisory' AND l.granted AND l.objsubid = 1 AND l.mode = 'ExclusiveLock'
           AND ((l.classid::bigint << 32) | l.objid::bigint) = s.lock_key
           AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
         WHERE s.role = 'scheduler' GROUP BY s.lock_key`,
      );
      expect(rows).toHaveLength(1);
      expect(rows[0]).toMatchObject({ holders: [expect.any(Number)], tried: false, named: true });
    });
    const answers = await Promise.all(cluster.nodes.map(roleOf));
    expect(answers.map(({ role }) => role).toSorted()).toEqual(["LEADER", "STANDBY", "STANDBY"]);
  });

  test.concurrent("3. the leader's epoch rises with every acquisition: after a crash, a handover and a stall (N16)", async ({
    expect,
  }) => {
    await using database = await createTestDatabase();
    await using cluster = await ServeCluster.start(database.url, 4);
    const epochs: number[] = [];
    const note = async (leader: Awaited<ReturnType<ServeCluster["leader"]>>) =>
      epochs.push((await roleOf(leader)).leader_epoch ?? 0);
    const first = await cluster.leader();
    await note(first);

    await heirOf(database.url);
    first.kill("SIGKILL");
    const rest = cluster.nodes.filter((node) => node !== first);
    const second = await cluster.leader(rest);
    await note(second);

    const handedOver = await second.post<{ acted_at?: number }>("/cluster/leaders/scheduler/step-down");
    expect(handedOver.acted_at).toEqual(expect.any(Number));
    const third = await cluster.leader(rest);
    expect(third).not.toBe(second);
    await note(third);

    third.freeze();
    const fourth = await cluster.leader(rest.filter((node) => node !== third));
    await note(fourth);
    third.thaw();
    // The old leader is fenced, follows the new one, and never answers as leader again.
    await expect.poll(async () => (await roleOf(third)).leader_id).toBe((await roleOf(fourth)).node_id);
    expect((await roleOf(third)).role).toBe("STANDBY");

    expect(epochs).toEqual([1, 2, 3, 4]);
    const { items } = await fourth.read<{ items: { event: string; epoch: number; reason: string }[] }>(
      "/cluster/history?role=scheduler",
    );
    const elections = items.filter(({ event }) => event === "elected").map(({ epoch, reason }) => [epoch, reason]);
    expect(elections.toReversed()).toEqual([
      [1, "first"],
      [2, "evidence"],
      [3, "released"],
      [4, "expired"],
    ]);
  });
});
