import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { AlertScene } from "../../test/support/alert-scene.js";
import { NotificationReceiver } from "../../test/support/notification-receiver.js";
import { HoldfastError } from "../errors.js";

const down = { name: "down", condition: "sum(up) == 0", for: "10s" };
const settings = { alerting: { defaults: false }, alerts: [down] };
const metrics = (up: number): string => `# TYPE up gauge\nup ${up}\n`;

let scene: AlertScene;
let up: number;

beforeEach(() => {
  scene = new AlertScene();
  up = 1;
});
afterEach(() => scene.close());

const startNodes = (...names: readonly string[]): void => {
  for (const name of names) scene.start(name, settings, () => metrics(up));
};
const rounds = (): number => scene.shared.alerts.round;
const notifications = () => scene.shared.alerts.notifications;

describe("rounds", () => {
  it("are done every 5 s by the leader of metrics_aggregator alone, while it does", async () => {
    scene.leaderId = "a";
    startNodes("a", "b", "c");
    await scene.clock.advance(60_000);
    expect(rounds()).toBe(13);
    expect(scene.shared.alerts.samples.map(({ text }) => text)).toEqual(Array(13).fill('up{node="a"} 1\n'));
  });

  it("are anybody's when nobody leads, and still one each 5 s", async () => {
    startNodes("a", "b", "c");
    await scene.clock.advance(60_000);
    expect(rounds()).toBe(13);
  });

  it("are somebody else's when the leader has done none for two intervals", async () => {
    scene.leaderId = "gone";
    startNodes("a", "b");
    await scene.clock.advance(60_000);
    expect(rounds()).toBeGreaterThanOrEqual(6);
    expect(rounds()).toBeLessThanOrEqual(7);
  });

  it("are written once where two nodes evaluate at the same time", async () => {
    startNodes("a", "b");
    const tried: string[] = [];
    scene.beforeKeep = (nodeId) => tried.push(nodeId);
    await scene.clock.advance(0);
    expect(tried).toEqual(["a", "b"]);
    expect(rounds()).toBe(1);
  });

  it("read the copies of all living nodes, and go without those that are silent, dead or have left", async () => {
    scene.leaderId = "a";
    scene.leaveCopy("silent", metrics(7));
    await scene.clock.advance(20_000);
    scene.leaveCopy("b", metrics(3));
    scene.leaveCopy("dead", metrics(5));
    scene.shared.nodes.set("dead", { nodeId: "dead", incarnation: "dead-1", status: "dead" } as never);
    scene.leaveCopy("a", metrics(9)); // Its own registry is newer than its copy.
    startNodes("a");
    await scene.clock.advance(0);
    expect(scene.shared.alerts.samples.at(-1)?.text).toBe('up{node="a"} 1\nup{node="b"} 3\n');
    await scene.clock.advance(20_000);
    expect(scene.shared.alerts.samples.at(-1)?.text).toBe('up{node="a"} 1\n');
  });

  it("keep of the series only what rules read, for as long as they look back", async () => {
    scene.start("a", settings, () => "up 1\nother 2\n");
    await scene.clock.advance(10 * 60_000);
    expect(scene.shared.alerts.samples).toHaveLength(61);
    expect(scene.shared.alerts.samples[0]?.text).toBe('up{node="a"} 1\n');
  });
});

describe("an alert", () => {
  it("is pending, fires after its time, is told once, and resolved when it holds no more", async () => {
    startNodes("a", "b");
    await scene.clock.advance(10_000);
    up = 0;
    await scene.clock.advance(9_000);
    expect([...scene.shared.alerts.alerts.values()]).toMatchObject([{ state: "pending" }]);
    expect(scene.told).toEqual([]);
    await scene.clock.advance(6_000);
    expect(scene.told).toEqual(["firing down"]);
    await scene.clock.advance(60_000);
    up = 1;
    await scene.clock.advance(6_000);
    expect(scene.told).toEqual(["firing down", "resolved down"]);
    expect(notifications()).toMatchObject([
      { change: 1, target: "log", outcome: "sent" },
      { change: 2, target: "log", outcome: "sent" },
    ]);
  });

  it("goes on under another evaluator as if nothing had happened, and is not told again", async () => {
    scene.leaderId = "a";
    up = 0;
    startNodes("a", "b");
    await scene.clock.advance(6_000);
    scene.rooms.get("a")?.remove();
    scene.leaderId = "b";
    await scene.clock.advance(6_000);
    expect(scene.told).toEqual(["firing down"]);
    scene.start("c", settings, () => metrics(up));
    scene.leaderId = "c";
    scene.rooms.get("b")?.remove();
    await scene.clock.advance(60_000);
    expect(scene.told).toEqual(["firing down"]);
    up = 1;
    await scene.clock.advance(6_000);
    expect(scene.told).toEqual(["firing down", "resolved down"]);
  });

  it("is resolved when its rule is there no more", async () => {
    up = 0;
    startNodes("a");
    await scene.clock.advance(16_000);
    scene.rooms.get("a")?.remove();
    scene.start("b", { alerting: { defaults: false } }, () => metrics(0));
    await scene.clock.advance(6_000);
    expect(scene.told).toEqual(["firing down", "resolved down"]);
  });

  it.each([
    ["names another target", [{ ...down, notify: ["log"] }]],
    ["is there no more", []],
  ])("is told as over to whoever was told that it fires, also where its rule %s by then", async (_now, alerts) => {
    await using receiver = await NotificationReceiver.start();
    const pagerduty = { url: receiver.url, routingKey: "key" };
    const notify = { pagerduty };
    const alerting = { defaults: false };
    up = 0;
    scene.start("a", { alerting, notify, alerts: [{ ...down, notify: ["pagerduty"] }] }, () => metrics(up));
    await scene.clock.advance(16_000);
    await expect.poll(() => receiver.bodies.map((body) => body.event_action)).toEqual(["trigger"]);
    await expect.poll(() => notifications().every(({ outcome }) => outcome === "sent")).toBe(true);
    scene.rooms.get("a")?.remove();
    const room = scene.start("b", { alerting, notify, alerts }, () => metrics(up));
    await scene.clock.advance(6_000);
    up = 1;
    await scene.clock.advance(6_000);
    await expect.poll(() => receiver.bodies.map((body) => body.event_action)).toEqual(["trigger", "resolve"]);
    // A test goes to those whom some rule names.
    expect((await room.test(null)).map(({ target }) => target)).toEqual(["log"]);
    expect(receiver.bodies).toHaveLength(2);
  });

  it("is forgotten as long after its end as history is kept", async () => {
    up = 0;
    const kept = { ...settings, retention: { historyDays: 1 } };
    scene.start("a", kept, () => metrics(up));
    await scene.clock.advance(16_000);
    up = 1;
    await scene.clock.advance(6_000);
    expect(scene.shared.alerts.alerts.size).toBe(1);
    scene.rooms.get("a")?.remove();
    await scene.clock.advance(2 * 86_400_000);
    scene.start("b", kept, () => metrics(1));
    await scene.clock.advance(0);
    expect(scene.shared.alerts.alerts.size).toBe(0);
  });

  it("whose rule cannot be evaluated stays as it is, and the log says so once", async () => {
    const broken = { name: "broken", condition: "up * on (x) group_left up == 0" };
    scene.start(
      "a",
      { alerting: { defaults: false }, alerts: [broken] },
      () => 'up{x="1",y="1"} 1\nup{x="1",y="2"} 1\n',
    );
    await scene.clock.advance(30_000);
    const said = scene.lines.filter(({ msg }) =>
      String(msg).startsWith("rules of alerts cannot be evaluated: broken: "),
    );
    expect(said).toHaveLength(1);
    expect(rounds()).toBe(7);
  });

  it("of a rule that reads more than nodes can hold stays as it is, and the other rules go on", async () => {
    const wide = { name: "wide", condition: 'sum(increase({__name__=~"hits.*"}[1h])) > 0' };
    let hits = 3_000;
    scene.start("a", { alerting: { defaults: false }, alerts: [down, wide] }, () => {
      hits += 1;
      return metrics(0) + Array.from({ length: hits }, (_, n) => `hits{path="${n}"} ${hits}\n`).join("");
    });
    await scene.clock.advance(16_000);
    expect(scene.told).toEqual(["firing down"]);
    expect(scene.shared.alerts.samples.at(-1)?.text).toBe('up{node="a"} 0\n');
    const said = scene.lines.filter(({ msg }) => String(msg).startsWith("rules of alerts cannot be evaluated: wide: "));
    expect(said).toHaveLength(1);
  });

  it("is not there where alerting is off", async () => {
    scene.start("a", { alerting: { enabled: false }, alerts: [down] }, () => metrics(0));
    await scene.clock.advance(60_000);
    expect(rounds()).toBe(0);
  });
});

describe("while the database is away", () => {
  const cut = (...names: readonly string[]): void => {
    for (const name of names) scene.cutOff.add(name);
  };

  it("each node evaluates its own metrics and tells by itself, under the same id; afterwards nothing is told again", async () => {
    startNodes("a", "b");
    await scene.clock.advance(10_000);
    cut("a", "b");
    up = 0;
    await scene.clock.advance(40_000);
    expect(scene.told).toEqual(["firing down", "firing down"]);
    const ids = new Set(scene.lines.filter(({ alert }) => alert === "down").map(({ alert_id: id }) => id));
    expect(ids.size).toBe(1);
    expect(scene.shared.alerts.alerts.size).toBe(0);
    scene.cutOff.clear();
    await scene.clock.advance(20_000);
    expect(scene.told).toEqual(["firing down", "firing down"]);
    expect([...scene.shared.alerts.alerts.values()]).toMatchObject([{ id: [...ids][0], state: "firing", changes: 1 }]);
    expect(notifications()).toMatchObject([{ outcome: "sent", change: 1 }]);
    up = 1;
    await scene.clock.advance(6_000);
    expect(scene.told).toEqual(["firing down", "firing down", "resolved down"]);
  });

  it("what is over when the database answers again is told as resolved, once", async () => {
    startNodes("a", "b");
    await scene.clock.advance(10_000);
    cut("a", "b");
    up = 0;
    await scene.clock.advance(40_000);
    up = 1;
    scene.cutOff.clear();
    await scene.clock.advance(20_000);
    expect(scene.told).toEqual(["firing down", "firing down", "resolved down"]);
  });

  it("what began before goes on from there, and what is resolved alone is resolved for all", async () => {
    up = 0;
    startNodes("a");
    await scene.clock.advance(16_000);
    expect(scene.told).toEqual(["firing down"]);
    cut("a");
    await scene.clock.advance(20_000);
    expect(scene.told).toEqual(["firing down"]);
    up = 1;
    await scene.clock.advance(6_000);
    expect(scene.told).toEqual(["firing down", "resolved down"]);
    scene.cutOff.clear();
    await scene.clock.advance(20_000);
    expect(scene.told).toEqual(["firing down", "resolved down"]);
    expect([...scene.shared.alerts.alerts.values()]).toMatchObject([{ state: "resolved", changes: 2 }]);
    expect(notifications().map(({ change, outcome }) => [change, outcome])).toEqual([
      [1, "sent"],
      [2, "sent"],
    ]);
  });

  it("what began and ended alone is known afterwards, once, however many nodes saw it", async () => {
    startNodes("a", "b", "c");
    await scene.clock.advance(10_000);
    cut("a", "b", "c");
    up = 0;
    await scene.clock.advance(40_000);
    up = 1;
    await scene.clock.advance(10_000);
    expect(scene.told.toSorted()).toEqual([...Array(3).fill("firing down"), ...Array(3).fill("resolved down")]);
    scene.cutOff.clear();
    await scene.clock.advance(20_000);
    expect(scene.told).toHaveLength(6);
    expect([...scene.shared.alerts.alerts.values()]).toMatchObject([{ state: "resolved", changes: 2 }]);
    expect(notifications()).toHaveLength(2);
  });

  it("a short silence changes nothing", async () => {
    up = 0;
    startNodes("a");
    await scene.clock.advance(11_000);
    cut("a");
    await scene.clock.advance(4_000);
    scene.cutOff.clear();
    expect(scene.told).toEqual(["firing down"]);
    await scene.clock.advance(20_000);
    expect(scene.told).toEqual(["firing down"]);
  });

  it("what waited to be told is told, and counts as told afterwards", async () => {
    startNodes("a");
    up = 0;
    scene.store.alerts.claim = async () => await Promise.resolve([]); // Nobody gets round to it.
    await scene.clock.advance(16_000);
    expect(notifications()).toMatchObject([{ outcome: null }]);
    expect(scene.told).toEqual([]);
    cut("a");
    await scene.clock.advance(20_000);
    expect(scene.told).toEqual(["firing down"]);
    scene.cutOff.clear();
    await scene.clock.advance(6_000);
    expect(notifications()).toMatchObject([{ outcome: "sent" }]);
  });

  it("what one node alone has told after all others had it resolved is resolved once more", async () => {
    startNodes("b");
    await scene.clock.advance(10_000);
    cut("b");
    let upHere = 0;
    scene.start("a", settings, () => metrics(upHere));
    await scene.clock.advance(16_000);
    upHere = 1;
    await scene.clock.advance(6_000);
    expect(scene.told).toEqual(["firing down", "resolved down"]);
    up = 0;
    await scene.clock.advance(20_000);
    expect(scene.told).toEqual(["firing down", "resolved down", "firing down"]);
    up = 1;
    scene.cutOff.clear();
    await scene.clock.advance(20_000);
    expect(scene.told).toEqual(["firing down", "resolved down", "firing down", "resolved down"]);
    expect([...scene.shared.alerts.alerts.values()]).toMatchObject([{ state: "resolved", changes: 4 }]);
  });

  it("nobody tells that what only another node's series showed is over", async () => {
    const old = { name: "old", condition: "max(age) > 600" };
    const rules = { alerting: { defaults: false }, alerts: [old] };
    const ages = { leader: 700, standby: 0 };
    scene.leaderId = "standby";
    for (const name of ["leader", "standby"] as const) scene.start(name, rules, () => `age ${ages[name]}\n`);
    scene.leaveCopy("leader", "age 700\n");
    await scene.clock.advance(6_000);
    expect(scene.told).toEqual(["firing old"]);
    cut("leader", "standby");
    await scene.clock.advance(40_000);
    expect(scene.told).toEqual(["firing old"]);
    // Whose series it was knows when it is over.
    ages.leader = 0;
    await scene.clock.advance(6_000);
    expect(scene.told).toEqual(["firing old", "resolved old"]);
    scene.cutOff.clear();
    await scene.clock.advance(20_000);
    expect(scene.told).toEqual(["firing old", "resolved old"]);
    expect([...scene.shared.alerts.alerts.values()]).toMatchObject([{ state: "resolved", changes: 2 }]);
  });

  it("others' series are stale", async () => {
    startNodes("a");
    scene.leaveCopy("b", metrics(1));
    up = 0;
    await scene.clock.advance(5_000);
    scene.leaveCopy("b", metrics(1));
    await scene.clock.advance(5_000);
    cut("a");
    await scene.clock.advance(40_000);
    expect(scene.told).toEqual(["firing down"]);
  });

  it("one that answers and takes no writes is away too: each node tells by itself, and writes it down afterwards", async () => {
    startNodes("a", "b");
    await scene.clock.advance(10_000);
    scene.beforeKeep = () => {
      throw new HoldfastError("REFUSED", "cannot execute UPDATE in a read-only transaction");
    };
    up = 0;
    await scene.clock.advance(40_000);
    expect(scene.told).toEqual(["firing down", "firing down"]);
    expect(scene.shared.alerts.alerts.size).toBe(0);
    scene.beforeKeep = () => undefined;
    await scene.clock.advance(20_000);
    expect([...scene.shared.alerts.alerts.values()]).toMatchObject([{ state: "firing", changes: 1 }]);
    expect(scene.told).toEqual(["firing down", "firing down"]);
    up = 1;
    await scene.clock.advance(6_000);
    expect(scene.told).toEqual(["firing down", "firing down", "resolved down"]);
  });
});

describe("what is to be told to somebody whom no node knows any more", () => {
  it("holds up nobody else, however much it is, and is given up in the end", async () => {
    startNodes("a");
    await scene.clock.advance(0);
    const { version, round } = scene.shared.alerts;
    const waiting = (alertId: string, target: string) => ({
      alertId,
      change: 1,
      target,
      body: { kind: "firing", name: alertId, dedup_key: alertId, labels: {} },
      told: false,
    });
    const unknown = Array.from({ length: 100 }, (_, n) => waiting(`${n}`, "webhook:gone"));
    const order = { nodeId: "x", version, round, sample: null, alerts: [], gone: [], told: [], forgetAfterMs: null };
    await scene.store.alerts.keep({ ...order, notifications: [...unknown, waiting("known", "log")] });
    await scene.clock.advance(6_000);
    expect(scene.told).toEqual(["firing known"]);
    scene.rooms.get("a")?.remove();
    await scene.clock.advance(2 * 86_400_000);
    startNodes("b");
    await scene.clock.advance(6_000);
    expect(notifications().filter(({ outcome }) => outcome === "given_up")).toHaveLength(100);
  });
});
