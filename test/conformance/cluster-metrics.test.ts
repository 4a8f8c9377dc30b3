import { test } from "vitest";
import { createTestDatabase } from "../support/postgres.js";
import { quickCluster, ServeProcess } from "../support/serve-process.js";

/** Who says of itself that it leads, as one node tells it of all. */
async function leadersByMetrics(node: ServeProcess): Promise<readonly string[]> {
  const text = await (await node.get("/metrics/cluster")).text();
  return [...text.matchAll(/^holdfast_leader_is_leader\{node="([^"]+)",role="scheduler"\} 1$/gm)].map(
    ([, id]) => id ?? "",
  );
}

test("the metrics of all nodes name one leader from the start, after a handover, and after a crash", async ({
  expect,
}) => {
  await using database = await createTestDatabase();
  const start = (id: string) =>
    ServeProcess.start({ settings: { ...quickCluster, "store.url": database.url, "cluster.node_id": id } });
  await using a = await start("a");
  await expect.poll(() => leadersByMetrics(a)).toEqual(["a"]);
  await using b = await start("b");
  await expect.poll(() => leadersByMetrics(b)).toEqual(["a"]);
  await a.post("/cluster/leaders/scheduler/step-down", { to: "b" });
  for (const node of [a, b]) await expect.poll(() => leadersByMetrics(node)).toEqual(["b"]);
  b.kill("SIGKILL");
  await expect.poll(() => leadersByMetrics(a)).toEqual(["a"]);
  const all = async () => await (await a.get("/metrics/cluster")).text();
  await expect.poll(all).toContain('holdfast_cluster_nodes{node="a",status="dead"} 1');
});
