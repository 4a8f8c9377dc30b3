import { expect, it } from "vitest";
import { alertSettings, allQuiet, moreRounds } from "../support/alert-cluster.js";
import { NotificationReceiver } from "../support/notification-receiver.js";
import { startTestServer } from "../support/postgres.js";
import { ServeCluster } from "../support/serve-cluster.js";

const nobodyLeads = {
  name: "no_scheduler_leader",
  condition: 'sum(holdfast_leader_is_leader{role="scheduler"}) == 0',
  for: "2s",
};

it("while the database is away each node tells by itself; afterwards nothing is told again, and the end once", async () => {
  await using server = await startTestServer();
  await using receiver = await NotificationReceiver.start();
  await using cluster = await ServeCluster.start(server.url, 2, alertSettings(receiver, [nobodyLeads]));
  await moreRounds(...cluster.nodes);
  await allQuiet(cluster.node("node-1"), receiver);
  await server.stop("immediate");
  await receiver.told("no_scheduler_leader", ["firing", "firing"], 120_000);
  expect(new Set(receiver.notifications().map(({ dedup_key: key }) => key)).size).toBe(1);
  await server.start();
  await receiver.told("no_scheduler_leader", ["firing", "firing", "resolved"], 120_000);
  await cluster.leader();
  await moreRounds(...cluster.nodes);
  expect(receiver.notifications("no_scheduler_leader")).toHaveLength(3);
}, 300_000);
