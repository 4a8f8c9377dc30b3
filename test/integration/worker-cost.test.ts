import { expect, test } from "vitest";
import { createJobs } from "../../src/jobs/create-jobs.js";
import { waitUntil } from "../../src/store/embedded/wait-until.js";
import { clusterNode } from "../support/election.js";
import { type LocalNode, startLocalNode } from "../support/local-node.js";
import { startTestServer, withClient } from "../support/postgres.js";

/** Answered beats so far. */
async function beatsOf({ node }: LocalNode): Promise<number> {
  const metric = await node.registry.getSingleMetric("holdfast_leader_heartbeat_seconds")?.get();
  const count = metric?.values.find((value) => "metricName" in value && String(value.metricName).endsWith("_count"));
  return count?.value ?? 0;
}

test("a worker that waits for work costs little more than its beat, and does the job that comes", {
  timeout: 120_000,
}, async () => {
  await using server = await startTestServer({
    shared_preload_libraries: "pg_stat_statements",
    max_connections: "100",
  });
  const workerUrl = new URL(server.url);
  workerUrl.username = "worker";
  workerUrl.password = "secret";
  await withClient(server.url, (client) =>
    client.query("CREATE EXTENSION pg_stat_statements; CREATE ROLE worker SUPERUSER LOGIN PASSWORD 'secret'"),
  );
  const timing = { heartbeatSeconds: 0.25 };
  await using leader = await startLocalNode(clusterNode(server.url, "leader", timing));
  const jobs = createJobs(leader.node);
  expect(await waitUntil(() => jobs.isOpen, 20_000)).toBe(true);
  await using worker = await startLocalNode(clusterNode(workerUrl.href, "worker", timing));
  createJobs(worker.node, { operations: { touch: () => null } });
  expect(await waitUntil(() => jobs.waitingAgents === 1, 20_000)).toBe(true);

  await withClient(server.url, async (client) => {
    const isResting = async (): Promise<boolean> => (await beatsOf(worker)) >= restedAt + 8;
    const restedAt = await beatsOf(worker);
    expect(await waitUntil(isResting, 30_000)).toBe(true);
    await client.query("SELECT pg_stat_statements_reset()");
    const since = await beatsOf(worker);
    expect(await waitUntil(async () => (await beatsOf(worker)) >= since + 16, 30_000)).toBe(true);
    const { rows } = await client.query<{ query: string; calls: number }>(
      "SELECT query, calls::int FROM pg_stat_statements s JOIN pg_roles r ON r.oid = s.userid WHERE r.rolname = 'worker'",
    );
    const beats = (await beatsOf(worker)) - since;
    const calls = rows.reduce((sum, row) => sum + row.calls, 0);
    // The heir's own waiting, in slices of up to a second, is a statement each.
    const waits = rows
      .filter(({ query }) => /wait_for|campaign|heir/i.test(query))
      .reduce((sum, row) => sum + row.calls, 0);
    expect(calls - waits, JSON.stringify(rows)).toBeLessThanOrEqual(beats + 6);
  });

  const [made] = await jobs.submit([{ op: "touch" }]);
  const done = await jobs.wait(made?.jobId ?? "", 20_000, new AbortController().signal);
  expect(done).toMatchObject({ state: "succeeded", agent: "node:worker" });
});
