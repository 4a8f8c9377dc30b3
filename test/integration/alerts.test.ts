import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { AlertAnswer } from "../../src/server/alert-answers.js";
import type { ListAnswer } from "../../src/server/page.js";
import { alertSettings, allQuiet, evaluatedBy, moreRounds } from "../support/alert-cluster.js";
import { NotificationReceiver } from "../support/notification-receiver.js";
import { createTestDatabase } from "../support/postgres.js";
import { ServeCluster } from "../support/serve-cluster.js";

const nobodyLeads = {
  name: "no_scheduler_leader",
  condition: 'sum(holdfast_leader_is_leader{role="scheduler"}) == 0',
  for: "2s",
  severity: "critical",
};

describe("alerts of a cluster of processes", () => {
  it("are told once each over the loss of whoever evaluates, while nobody leads", async () => {
    await using database = await createTestDatabase();
    await using receiver = await NotificationReceiver.start();
    await using cluster = await ServeCluster.start(database.url, 2, alertSettings(receiver, [nobodyLeads]));
    const { nodes } = cluster;
    await moreRounds(...nodes);
    await allQuiet(cluster.node("node-1"), receiver);
    for (const id of ["node-1", "node-2"]) await cluster.node(id).post(`/cluster/nodes/${id}/drain`);
    await receiver.told("no_scheduler_leader", ["firing"]);

    const evaluator = await evaluatedBy(nodes);
    evaluator.kill("SIGKILL");
    await evaluator.exited;
    const id = evaluator === nodes[0] ? "node-2" : "node-1";
    const left = cluster.node(id);
    await moreRounds(left);
    const { items } = await left.read<ListAnswer<AlertAnswer>>("/alerts?state=firing");
    await left.post(`/alerts/${items[0]?.id}/acknowledge`);
    await receiver.told("no_scheduler_leader", ["firing", "acknowledged"]);
    await left.post(`/cluster/nodes/${id}/resume`);
    await receiver.told("no_scheduler_leader", ["firing", "acknowledged", "resolved"]);
    await moreRounds(left);
    const told = receiver.notifications();
    const [{ change: first }] = told as [(typeof told)[number]];
    expect(told.map(({ change }) => change)).toEqual([first, first + 1, first + 2]);
    expect(new Set(told.map(({ dedup_key: key }) => key))).toEqual(new Set([items[0]?.id]));
    expect(told[0]).toMatchObject({ severity: "critical", value: "0", summary: "no_scheduler_leader" });
  }, 180_000);

  it("go without the series of a node that has vanished", async () => {
    await using database = await createTestDatabase();
    await using receiver = await NotificationReceiver.start();
    const alone = { name: "alone", condition: 'count(holdfast_leader_is_leader{role="scheduler"}) < 2' };
    // A busy machine may have a node called dead that is only slow, so what counts is what was told last.
    const settings = alertSettings(receiver, [alone], { "cluster.node_timeout_seconds": 5 });
    const lastTold = (): string => receiver.notifications("alone").at(-1)?.kind ?? "";
    await using cluster = await ServeCluster.start(database.url, 2, settings);
    await expect.poll(lastTold, { timeout: 60_000 }).toBe("resolved"); // There was one node before there were two.
    cluster.node("node-2").kill("SIGKILL");
    await expect.poll(lastTold, { timeout: 60_000 }).toBe("firing");
    expect(receiver.notifications("alone").at(-1)).toMatchObject({ value: "1" });
  }, 180_000);

  it("are signed, and told again until they are taken", async () => {
    await using database = await createTestDatabase();
    await using receiver = await NotificationReceiver.start();
    receiver.answers.push({ status: 503, headers: { "retry-after": "1" } });
    const settings = alertSettings(receiver, [{ name: "always", condition: "holdfast_leader_is_leader >= 0" }], {
      "notify.webhook.secret": "a secret of the two",
    });
    await using _cluster = await ServeCluster.start(database.url, 1, settings);
    const alerts = (): number => new Set(receiver.notifications("always").map(({ dedup_key: key }) => key)).size;
    await expect.poll(() => receiver.posts.length - alerts(), { timeout: 60_000 }).toBe(1);
    const [refused] = receiver.posts;
    const again = receiver.posts.slice(1).find(({ text }) => text === refused?.text);
    expect(again?.headers["x-holdfast-delivery"]).toBe(refused?.headers["x-holdfast-delivery"]);
    for (const { headers, text } of receiver.posts) {
      const signed = `${String(headers["x-holdfast-timestamp"])}.${text}`;
      const signature = createHmac("sha256", "a secret of the two").update(signed).digest("hex");
      expect(headers["x-holdfast-signature"]).toBe(`v1=${signature}`);
    }
  }, 180_000);
});
