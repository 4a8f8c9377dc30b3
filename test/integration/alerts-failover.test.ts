import { expect, it } from "vitest";
import { alertSettings, moreRounds } from "../support/alert-cluster.js";
import { NotificationReceiver } from "../support/notification-receiver.js";
import { createTestDatabase } from "../support/postgres.js";
import { ServeCluster } from "../support/serve-cluster.js";

/** The rules that come with Holdfast, told to the receiver. */
const defaults = (receiver: NotificationReceiver) =>
  alertSettings(receiver, [], {
    "alerting.defaults": true,
    "alerting.interval": "1s",
    "alerting.notify": `webhook:${receiver.url}/alerts`,
  });

it("no_scheduler_leader fires after its 30 s when no node can lead, and resolves when one does", async () => {
  await using database = await createTestDatabase();
  await using receiver = await NotificationReceiver.start();
  await using cluster = await ServeCluster.start(database.url, 2, defaults(receiver));
  for (const id of ["node-1", "node-2"]) await cluster.node(id).post(`/cluster/nodes/${id}/drain`);
  await receiver.told("no_scheduler_leader", ["firing"], 120_000);
  const [told] = receiver.notifications("no_scheduler_leader");
  const { fired_at: firedAt, active_since: activeSince } = told ?? { fired_at: null, active_since: 0 };
  expect((firedAt ?? 0) - activeSince).toBeGreaterThanOrEqual(30);
  await cluster.node("node-2").post("/cluster/nodes/node-2/resume");
  await receiver.told("no_scheduler_leader", ["firing", "resolved"], 120_000);
  await moreRounds(cluster.node("node-2"));
  expect(receiver.notifications("no_scheduler_leader")).toHaveLength(2);
}, 600_000);

it("frequent_failovers fires after six leaders that stalled, and is told once, whoever evaluates", async () => {
  await using database = await createTestDatabase();
  await using receiver = await NotificationReceiver.start();
  // The stall of a leader of several roles is as many failovers: here one role is counted.
  const rule = {
    name: "frequent_failovers",
    condition: 'round(sum(increase(holdfast_leader_failovers_total{role="scheduler"}[5m]))) > 5',
  };
  await using cluster = await ServeCluster.start(database.url, 3, alertSettings(receiver, [rule]));
  for (let failover = 1; failover <= 6; failover += 1) {
    const leader = await cluster.leader();
    await moreRounds(...cluster.nodes);
    if (failover < 5) expect(receiver.posts).toEqual([]);
    leader.freeze();
    await cluster.leader(cluster.nodes.filter((node) => node !== leader));
    leader.thaw();
  }
  await receiver.told("frequent_failovers", ["firing"], 120_000);
  const last = await cluster.leader();
  last.kill("SIGKILL");
  await last.exited;
  const left = cluster.nodes.filter((node) => node !== last);
  await cluster.leader(left);
  await moreRounds(...left);
  expect(receiver.notifications()).toHaveLength(1);
}, 600_000);
