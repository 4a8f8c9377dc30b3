import { expect, it } from "vitest";
import { waitUntil } from "../../src/store/embedded/wait-until.js";
import { alertSettings, moreRounds } from "../support/alert-cluster.js";
import { NotificationReceiver } from "../support/notification-receiver.js";
import { createTestDatabase } from "../support/postgres.js";
import { roleOf, ServeCluster } from "../support/serve-cluster.js";
import { quickCluster, ServeProcess } from "../support/serve-process.js";

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

it("frequent_failovers fires after six crashes of leaders, and is told once, whoever evaluates", async () => {
  await using database = await createTestDatabase();
  await using receiver = await NotificationReceiver.start();
  // A crash of a leader of several roles is as many failovers.
  const rule = {
    name: "frequent_failovers",
    condition: 'sum(increase(holdfast_leader_failovers_total{role="scheduler"}[5m])) > 5',
  };
  const settings = { ...quickCluster, ...alertSettings(receiver, [rule]), "store.url": database.url };
  const nodes = new Map<string, ServeProcess>();
  const started: ServeProcess[] = [];
  await using _everything = {
    [Symbol.asyncDispose]: async () => void (await Promise.all(started.map((node) => node[Symbol.asyncDispose]()))),
  };
  const start = async (id: string): Promise<void> => {
    const node = await ServeProcess.start({ settings: { ...settings, "cluster.node_id": id } });
    started.push(node);
    nodes.set(id, node);
  };
  const leaderId = async (): Promise<string> => {
    let found = "";
    const isLed = async (): Promise<boolean> => {
      const answers = await Promise.all([...nodes.values()].map((node) => roleOf(node).catch(() => null)));
      found = answers.find((answer) => answer?.role === "LEADER")?.node_id ?? "";
      return found !== "";
    };
    if (!(await waitUntil(isLed, 60_000))) throw new Error("Nobody leads.");
    return found;
  };
  for (const id of ["a", "b", "c"]) await start(id);
  for (let crash = 1; crash <= 6; crash += 1) {
    const id = await leaderId();
    await moreRounds(nodes.get(id) as ServeProcess);
    if (crash < 5) expect(receiver.posts).toEqual([]);
    nodes.get(id)?.kill("SIGKILL");
    nodes.delete(id);
    await leaderId();
    await start(id);
  }
  await receiver.told("frequent_failovers", ["firing"], 120_000);
  const last = await leaderId();
  nodes.get(last)?.kill("SIGKILL");
  nodes.delete(last);
  await Promise.any([...nodes.values()].map(moreRounds));
  expect(receiver.notifications()).toHaveLength(1);
}, 600_000);
