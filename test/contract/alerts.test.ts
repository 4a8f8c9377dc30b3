import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { AlertBook, AlertLook, AlertOrder, StoredAlert } from "../../src/store/alert-contract.js";
import { memoryHarness, Player, postgresHarness, type StoreHarness } from "./harness.js";

const hour = 3_600_000;
const day = 24 * hour;
const nothingKnown = { version: null, sample: null, backMs: hour };

/** What every store keeps of alerts. */
describe.each([
  ["memory", memoryHarness],
  ["postgres", postgresHarness],
] as const)("the alerts in the %s store", (_name, makeHarness) => {
  let harness: StoreHarness;
  let book: AlertBook;

  beforeEach(async () => {
    harness = await makeHarness();
    ({ alerts: book } = await harness.open());
  });

  afterEach(async () => await harness[Symbol.asyncDispose]());

  const look = async (): Promise<AlertLook> => await book.look(nothingKnown);

  const alert = (id: string, changed: Partial<StoredAlert> = {}): StoredAlert => ({
    id,
    rule: "down",
    state: "firing",
    labels: { alertname: "down", severity: "critical", node: "a" },
    summary: "It is down.",
    condition: "up == 0",
    value: 1,
    activeSince: 1_700_000_000_000,
    firedAt: 1_700_000_030_000,
    acknowledged: null,
    resolvedAt: null,
    resolvedBy: null,
    quiet: false,
    changes: 1,
    targets: ["log", "slack:#ops"],
    ...changed,
  });

  const keep = async (changed: Partial<AlertOrder> = {}): Promise<"kept" | "overtaken"> => {
    const { version, round } = await look();
    const empty = { alerts: [], gone: [], notifications: [], told: [], forgetAfterMs: null };
    return await book.keep({ nodeId: "a", version, round, sample: null, ...empty, ...changed });
  };

  const notification = (alertId: string, change: number, target = "log", told = false) => ({
    alertId,
    change,
    target,
    body: { kind: change % 2 === 1 ? "firing" : "resolved", text: "any" },
    told,
  });

  const claim = async (lease: string, changed: { targets?: readonly string[]; limit?: number } = {}) =>
    await book.claim({
      lease,
      targets: ["log", "slack:#ops"],
      leaseMs: 30_000,
      patienceMs: day,
      limit: 10,
      ...changed,
    });

  it("are looked at by whoever leaves its metrics for the others", async () => {
    await keep({ alerts: [alert("1")], sample: { at: (await look()).now, text: "up 1\n", keptMs: hour } });
    await using b = await Player.join(harness, "b");
    const { store } = b;
    expect(await store.alerts.exchange("up 0\n", nothingKnown)).toMatchObject({
      round: 1,
      alerts: [{ id: "1" }],
      samples: [{ text: "up 1\n" }],
    });
    await store.alerts.exchange("up 1\n", nothingKnown);
    expect(await store.snapshots.all()).toMatchObject([{ nodeId: "b", text: "up 1\n" }]);
  });

  it("begin with nothing, and no round", async () => {
    const first = await look();
    expect(first).toMatchObject({ version: 0, round: 0, ageMs: null, alerts: [], waiting: [], samples: [] });
    expect(Math.abs(first.now - Date.now())).toBeLessThan(60_000);
  });

  it("let one of those write who have read the same, and tell the others that they were overtaken", async () => {
    const { version, round, now } = await look();
    const sample = { at: now, text: "up 1\n", keptMs: hour };
    const both = await Promise.all(["a", "b"].map((nodeId) => keep({ nodeId, version, round, sample })));
    expect(both.toSorted()).toEqual(["kept", "overtaken"]);
    expect(await look()).toMatchObject({ version, round: round + 1, samples: [{ at: now, text: "up 1\n" }] });
  });

  it("write nothing of what was overtaken", async () => {
    const { version, round } = await look();
    await keep({ alerts: [alert("1")] });
    const late = { version, round, alerts: [alert("2")], gone: ["1"], notifications: [notification("1", 1)] };
    expect(await keep(late)).toBe("overtaken");
    expect(await look()).toMatchObject({ alerts: [{ id: "1" }], waiting: [] });
  });

  it("raise the version with every change of an alert, and with nothing else", async () => {
    await keep({ sample: { at: (await look()).now, text: "", keptMs: hour } });
    expect(await look()).toMatchObject({ version: 0, round: 1 });
    await keep({ alerts: [alert("1")] });
    expect(await look()).toMatchObject({ version: 1, round: 1 });
    await keep({ gone: ["1"] });
    expect(await look()).toMatchObject({ version: 2, round: 1, alerts: [] });
  });

  it("give back what they were given, also what is no number to JSON", async () => {
    const given = [
      alert("1", { value: Number.POSITIVE_INFINITY, acknowledged: { at: 1_700_000_040_000.5, by: "ann" } }),
      alert("2", { value: Number.NaN, state: "pending", firedAt: null, changes: 0, targets: [] }),
      alert("3", { state: "resolved", resolvedAt: 1_700_000_050_000, resolvedBy: "bob", quiet: true, value: -0.5 }),
    ];
    await keep({ alerts: given });
    expect((await look()).alerts).toEqual(given);
    const changed = alert("2", { value: 7, labels: { alertname: 'd "\\ \n ü' }, summary: "", changes: 9 });
    await keep({ alerts: [changed] });
    expect((await look()).alerts).toEqual([given[0], changed, given[2]]);
  });

  it("do not send again what is known", async () => {
    await keep({ alerts: [alert("1")], sample: { at: (await look()).now, text: "up 1\n", keptMs: hour } });
    const first = await look();
    const known = { version: first.version, sample: first.samples[0]?.id ?? null, backMs: hour };
    expect(await book.look(known)).toMatchObject({ alerts: null, samples: [] });
    await keep({ sample: { at: first.now + 1, text: "up 0\n", keptMs: hour } });
    expect(await book.look(known)).toMatchObject({ alerts: null, samples: [{ text: "up 0\n" }] });
  });

  it("keep samples as long as they are of use, and send those that are", async () => {
    await keep({ sample: { at: (await look()).now, text: "1", keptMs: hour } });
    await harness.advance(40 * 60_000);
    await keep({ sample: { at: (await look()).now, text: "2", keptMs: hour } });
    const textsOf = async (backMs: number) =>
      (await book.look({ ...nothingKnown, backMs })).samples.map(({ text }) => text);
    expect(await textsOf(day)).toEqual(["1", "2"]);
    expect(await textsOf(30 * 60_000)).toEqual(["2"]);
    await harness.advance(40 * 60_000);
    expect((await look()).ageMs).toBeGreaterThan(39 * 60_000);
    await keep({ sample: { at: (await look()).now, text: "3", keptMs: hour } });
    expect(await textsOf(day)).toEqual(["2", "3"]);
  });

  it("hand a notification to one node at a time, with a new attempt each time", async () => {
    await keep({ alerts: [alert("1")], notifications: [notification("1", 1)] });
    expect(await claim("x")).toEqual([
      { id: expect.any(String), target: "log", body: { kind: "firing", text: "any" }, attempts: 1 },
    ]);
    expect(await claim("y")).toEqual([]);
    await harness.advance(31_000);
    expect(await claim("y")).toMatchObject([{ attempts: 2 }]);
  });

  it("hand each notification to one of many nodes that ask at once", async () => {
    const ids = Array.from({ length: 20 }, (_, index) => `${index}`);
    await keep({ alerts: ids.map((id) => alert(id)), notifications: ids.map((id) => notification(id, 1)) });
    const claims = await Promise.all(["x", "y", "z"].map((lease) => claim(lease, { limit: 20 })));
    const claimed = claims.flat().map(({ id }) => id);
    expect(new Set(claimed).size).toBe(claimed.length);
  });

  it("hand out only what the node knows how to tell, and no more than it asks for", async () => {
    await keep({
      alerts: [alert("1"), alert("2")],
      notifications: [notification("1", 1, "pagerduty"), notification("1", 1), notification("2", 1)],
    });
    expect(await claim("x", { limit: 1 })).toMatchObject([{ target: "log" }]);
    expect(await claim("y")).toMatchObject([{ target: "log" }]);
    expect(await claim("z")).toEqual([]);
    expect(await claim("z", { targets: ["pagerduty"] })).toHaveLength(1);
  });

  it("keep the order of an alert's notifications to each target, also over retries", async () => {
    await keep({ alerts: [alert("1")], notifications: [notification("1", 1), notification("1", 1, "slack:#ops")] });
    await keep({
      alerts: [alert("1", { changes: 2 })],
      notifications: [notification("1", 2), notification("1", 2, "slack:#ops")],
    });
    const [first, second] = await claim("x");
    expect([first, second]).toMatchObject([{ body: { kind: "firing" } }, { body: { kind: "firing" } }]);
    await book.settle(first?.id ?? "", "x", { kind: "sent" });
    await book.settle(second?.id ?? "", "x", { kind: "failed", problem: "HTTP 500", retryMs: 60_000 });
    const next = await claim("y");
    expect(next).toMatchObject([{ target: first?.target, body: { kind: "resolved" } }]);
    await book.settle(next[0]?.id ?? "", "y", { kind: "sent" });
    expect(await claim("y")).toEqual([]);
    await harness.advance(61_000);
    expect(await claim("y")).toMatchObject([{ target: second?.target, body: { kind: "firing" }, attempts: 2 }]);
  });

  it("settle a notification once, by whoever has claimed it last", async () => {
    await keep({ alerts: [alert("1")], notifications: [notification("1", 1)] });
    const [claimed] = await claim("x");
    const id = claimed?.id ?? "";
    await harness.advance(31_000);
    await claim("y");
    expect(await book.settle(id, "x", { kind: "sent" })).toBe(false);
    expect((await look()).waiting).toHaveLength(1);
    expect(await book.settle(id, "y", { kind: "sent" })).toBe(true);
    expect(await book.settle(id, "y", { kind: "sent" })).toBe(false);
    expect((await look()).waiting).toEqual([]);
    expect(await claim("z")).toEqual([]);
  });

  it("take a change's notification once", async () => {
    await keep({ alerts: [alert("1")], notifications: [notification("1", 1)] });
    await keep({ alerts: [alert("1")], notifications: [notification("1", 1), notification("1", 2)] });
    expect((await look()).waiting.map(({ change }) => change)).toEqual([1, 2]);
  });

  it("take note of what was told elsewhere", async () => {
    await keep({
      alerts: [alert("1")],
      notifications: [notification("1", 1), notification("1", 1, "slack:#ops", true)],
    });
    expect((await look()).waiting).toMatchObject([
      { alertId: "1", change: 1, target: "log", body: { kind: "firing" } },
    ]);
    await keep({ told: [{ alertId: "1", change: 1, target: "log" }] });
    expect((await look()).waiting).toEqual([]);
    expect(await claim("x")).toEqual([]);
    expect((await book.list(10))[0]?.notified).toMatchObject([{ outcome: "sent" }, { outcome: "sent" }]);
  });

  it("give up what nobody could tell for a day, and go on with what came after", async () => {
    await keep({ alerts: [alert("1")], notifications: [notification("1", 1)] });
    const [claimed] = await claim("x");
    await book.settle(claimed?.id ?? "", "x", { kind: "failed", problem: "HTTP 404", retryMs: 600_000 });
    await harness.advance(day + 1_000);
    await keep({ alerts: [alert("1", { changes: 2 })], notifications: [notification("1", 2)] });
    expect(await claim("y")).toMatchObject([{ body: { kind: "resolved" } }]);
    expect((await book.list(10))[0]?.notified).toMatchObject([
      { change: "resolved", outcome: "waiting", attempts: 1, problem: null },
      { change: "firing", outcome: "given_up", attempts: 1, problem: "HTTP 404" },
    ]);
  });

  it("are listed by what matters, with whom was told", async () => {
    const resolved = { state: "resolved", resolvedAt: 1_700_000_090_000 } as const;
    await keep({
      alerts: [
        alert("old", { ...resolved, resolvedAt: 1_700_000_080_000 }),
        alert("over", resolved),
        alert("soon", { state: "pending", firedAt: null }),
        alert("first"),
        alert("later", { activeSince: 1_700_000_060_000 }),
      ],
      notifications: [notification("first", 1)],
    });
    const listed = await book.list(10);
    expect(listed.map(({ id }) => id)).toEqual(["later", "first", "soon", "over", "old"]);
    expect(listed[1]?.notified).toEqual([
      { target: "log", change: "firing", at: expect.any(Number), outcome: "waiting", attempts: 0, problem: null },
    ]);
    expect(await book.list(2)).toHaveLength(2);
  });

  it("are forgotten when they were resolved long ago, but not what is quiet or still to be told", async () => {
    const over = { state: "resolved", resolvedAt: (await look()).now } as const;
    await keep({
      alerts: [alert("gone", over), alert("quiet", { ...over, quiet: true }), alert("untold", over), alert("fires")],
      notifications: [notification("untold", 2), notification("gone", 2, "log", true)],
    });
    const idsOf = async () => (await look()).alerts?.map(({ id }) => id);
    await harness.advance(10 * day);
    await keep({ forgetAfterMs: 11 * day });
    expect(await idsOf()).toEqual(["fires", "gone", "quiet", "untold"]);
    await keep();
    expect(await idsOf()).toHaveLength(4);
    await keep({ forgetAfterMs: 9 * day });
    expect(await idsOf()).toEqual(["fires", "quiet", "untold"]);
  });

  it("forget what was told so long ago, also of an alert that never comes to rest", async () => {
    const told = async () => (await book.list(10))[0]?.notified.map(({ change, at }) => [change, at > 0]);
    await keep({
      alerts: [alert("1")],
      notifications: [notification("1", 1, "log", true), notification("1", 1, "hook")],
    });
    await harness.advance(10 * day);
    await keep({ alerts: [alert("1", { changes: 2 })], notifications: [notification("1", 2, "log", true)] });
    await keep({ forgetAfterMs: 11 * day });
    expect(await told()).toHaveLength(3);
    await keep({ forgetAfterMs: 9 * day });
    // The one to the hook still waits.
    expect(await told()).toEqual([
      ["resolved", true],
      ["firing", true],
    ]);
    expect((await look()).waiting).toMatchObject([{ change: 1, target: "hook" }]);
  });
});
