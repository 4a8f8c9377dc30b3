import { expect, test } from "vitest";
import { waitUntil } from "../../src/store/embedded/wait-until.js";
import { clusterNode, heirOf } from "../support/election.js";
import { type LocalNode, startLocalNode } from "../support/local-node.js";
import { startTestServer, withClient } from "../support/postgres.js";

const roles = Array.from({ length: 20 }, (_, index) => `role-${index}`);

/** Answered beats so far. */
async function beatsOf({ node }: LocalNode): Promise<number> {
  const metric = await node.registry.getSingleMetric("holdfast_leader_heartbeat_seconds")?.get();
  return (
    metric?.values.find((value) => "metricName" in value && String(value.metricName).endsWith("_count"))?.value ?? 0
  );
}

test("an idle standby costs one statement a beat, however many roles there are", async () => {
  await using server = await startTestServer({
    shared_preload_libraries: "pg_stat_statements",
    max_connections: "100",
  });
  const idleUrl = new URL(server.url);
  idleUrl.username = "idler";
  idleUrl.password = "secret";
  await withClient(server.url, (client) =>
    client.query("CREATE EXTENSION pg_stat_statements; CREATE ROLE idler SUPERUSER LOGIN PASSWORD 'secret'"),
  );
  const timing = { heartbeatSeconds: 0.25 };
  await using leader = await startLocalNode(clusterNode(server.url, "leader", timing));
  const terms = await Promise.all(roles.map((role) => leader.leads(role)));
  expect(terms.map(({ epoch }) => epoch)).toEqual(roles.map(() => 1n));
  await using heir = await startLocalNode(clusterNode(server.url, "heir", timing));
  for (const role of roles) heir.node.role(role);
  for (const role of roles) expect(await heirOf(server.url, role)).toBe("heir");
  await using idle = await startLocalNode(clusterNode(idleUrl.href, "idle", timing));
  for (const role of roles) idle.node.role(role);
  const knowsAll = () => roles.every((role) => idle.node.role(role).leader()?.nodeId === "leader");
  expect(await waitUntil(knowsAll, 10_000)).toBe(true);

  await withClient(server.url, async (client) => {
    await client.query("SELECT pg_stat_statements_reset()");
    const since = await beatsOf(idle);
    expect(await waitUntil(async () => (await beatsOf(idle)) >= since + 12, 20_000)).toBe(true);
    const { rows } = await client.query<{ query: string; calls: number }>(
      "SELECT query, calls::int FROM pg_stat_statements s JOIN pg_roles r ON r.oid = s.userid WHERE r.rolname = 'idler'",
    );
    const beats = (await beatsOf(idle)) - since;
    const calls = rows.reduce((sum, row) => sum + row.calls, 0);
    expect(rows.map(({ query }) => query).join("; ")).toContain("beat");
    // Beside them one beat at each end of the count, and one look of the witness every few seconds.
    expect(calls, JSON.stringify(rows)).toBeLessThanOrEqual(beats + 3);
  });
});
