import { describe, expect, it } from "vitest";
import type { StoredAlert } from "../../src/store/alert-contract.js";
import { NotificationReceiver } from "../support/notification-receiver.js";
import { type Served, serve, serveOpen } from "./served.js";
import { awayAtOnce, StandInNode } from "./stand-in-node.js";

type Body = Record<string, unknown>;

function keep({ node }: Pick<Served, "node">, id: string, given: Partial<StoredAlert> = {}): void {
  const alert: StoredAlert = {
    id,
    rule: "down",
    state: "firing",
    labels: { alertname: "down", severity: "critical", node: "a" },
    summary: "It is down.",
    condition: "up == 0",
    value: 3,
    activeSince: 1_750_000_000_000,
    firedAt: 1_750_000_030_500,
    acknowledged: null,
    resolvedAt: null,
    resolvedBy: null,
    quiet: false,
    changes: 1,
    targets: ["log"],
    ...given,
  };
  node.alertTables.alerts.set(id, alert);
  node.alertTables.version += 1;
}

const get = async ({ app }: Served, url: string) => {
  const { statusCode: status, body } = await app.inject({ url });
  return { status, body: JSON.parse(body) as Body & { items: Body[]; next_cursor: string | null } };
};

const post = async ({ app }: Served, url: string, payload: Body = {}, headers: Record<string, string> = {}) => {
  const answer = await app.inject({ method: "POST", url, headers, payload });
  return { status: answer.statusCode, body: answer.json<Body>() };
};

describe("GET /alerts", () => {
  it("lists alerts on any node, those that fire first, each with whom was told", async () => {
    await using served = await serveOpen();
    served.node.stand("STANDBY", "scheduler", "node-b");
    keep(served, "a0", { state: "resolved", resolvedAt: 1_750_000_090_000, resolvedBy: "ann" });
    keep(served, "b1", { state: "pending", firedAt: null, value: Number.POSITIVE_INFINITY });
    keep(served, "c2", { acknowledged: { at: 1_750_000_040_000, by: "bob" } });
    const { status, body } = await get(served, "/alerts");
    expect(status).toBe(200);
    expect(body.items.map(({ id, state }) => [id, state])).toEqual([
      ["c2", "acknowledged"],
      ["b1", "pending"],
      ["a0", "resolved"],
    ]);
    expect(body.items[0]).toEqual({
      id: "c2",
      name: "down",
      state: "acknowledged",
      severity: "critical",
      labels: { alertname: "down", severity: "critical", node: "a" },
      value: 3,
      condition: "up == 0",
      summary: "It is down.",
      active_since: 1_750_000_000,
      fired_at: 1_750_000_030.5,
      acknowledged_at: 1_750_000_040,
      acknowledged_by: "bob",
      resolved_at: null,
      resolved_by: null,
      notified: [],
    });
    expect(body.items[1]).toMatchObject({ value: null });
  });

  it("lists those of one state, in pages", async () => {
    await using served = await serveOpen();
    for (const [index, id] of ["a", "b", "c"].entries()) keep(served, id, { activeSince: 3_000 - index });
    keep(served, "d", { acknowledged: { at: 1, by: "x" } });
    const first = await get(served, "/alerts?state=firing&limit=2");
    expect(first.body.items.map(({ id }) => id)).toEqual(["a", "b"]);
    const rest = await get(served, `/alerts?state=firing&limit=2&cursor=${first.body.next_cursor}`);
    expect(rest.body.items.map(({ id }) => id)).toEqual(["c"]);
    expect(rest.body.next_cursor).toBeNull();
    expect((await get(served, "/alerts?state=bad")).status).toBe(422);
  });

  it("is 503 without the database", async () => {
    await using served = await serveOpen();
    served.node.trouble = awayAtOnce;
    expect(await get(served, "/alerts")).toMatchObject({ status: 503, body: { error: "DATABASE_AWAY" } });
  });
});

describe("GET /alerts/rules", () => {
  it("shows every rule, those that come with Holdfast too, and whether it holds; and no address", async () => {
    const alerts = [
      { name: "down", condition: "up == 0", for: "90s", notify: ["webhook:https://hooks.example/hush", "slack:#ops"] },
      { name: "node_dead", enabled: false },
    ];
    await using served = await serveOpen({ alerts });
    keep(served, "a1");
    const { body } = await get(served, "/alerts/rules");
    const names = body.items.map(({ name }) => name);
    expect(names).toContain("no_scheduler_leader");
    expect(names).not.toContain("node_dead");
    expect(body.items.find(({ name }) => name === "no_scheduler_leader")).toMatchObject({
      state: "inactive",
      alerts: 0,
      origin: "default",
      for_seconds: 30,
      notify: ["log"],
    });
    expect(body.items.find(({ name }) => name === "down")).toMatchObject({
      state: "firing",
      alerts: 1,
      origin: "settings",
      condition: "up == 0",
      for_seconds: 90,
      notify: ["log", expect.stringMatching(/^webhook:hooks\.example#[0-9a-f]{8}$/), "slack:#ops"],
    });
    expect(JSON.stringify(body)).not.toContain("hush");
  });
});

describe("an alert", () => {
  it("is acknowledged by whoever the token is, once, and whoever is to be told is told", async () => {
    await using served = serve(new StandInNode());
    keep(served, "a1");
    const headers = await served.node.bearer("operator");
    const done = await post(served, "/alerts/a1/acknowledge", {}, headers);
    expect(done).toMatchObject({ status: 200, body: { state: "acknowledged", acknowledged_by: "operator-token" } });
    const again = await post(served, "/alerts/a1/acknowledge", {}, headers);
    expect(again).toMatchObject({ status: 200, body: { state: "acknowledged" } });
    await expect.poll(() => served.node.lines.filter(({ state }) => state === "acknowledged")).toHaveLength(1);
    await expect.poll(() => served.node.alertTables.notifications.map(({ outcome }) => outcome)).toEqual(["sent"]);
    expect(served.node.auditRows.map(({ action }) => action)).toContain("POST /alerts/:id/acknowledge");
  });

  it("is resolved by hand, and is quiet then", async () => {
    await using served = await serveOpen();
    keep(served, "a1");
    expect(await post(served, "/alerts/a1/resolve")).toMatchObject({ status: 200, body: { state: "resolved" } });
    expect(served.node.alertTables.alerts.get("a1")).toMatchObject({ quiet: true, changes: 2 });
    await expect.poll(() => served.node.lines.filter(({ state }) => state === "resolved")).toHaveLength(1);
  });

  it("that does not fire is not acknowledged, and one that is not there is 404", async () => {
    await using served = await serveOpen();
    keep(served, "a1", { state: "pending", firedAt: null });
    for (const act of ["acknowledge", "resolve"]) {
      expect(await post(served, `/alerts/a1/${act}`)).toMatchObject({
        status: 409,
        body: { error: "REFUSED", message: "The alert down does not fire; it is pending." },
      });
      expect(await post(served, `/alerts/ff/${act}`)).toMatchObject({ status: 404, body: { error: "NOT_FOUND" } });
      expect(await post(served, `/alerts/No!/${act}`)).toMatchObject({ status: 422 });
      expect(await post(served, `/alerts/a1/${act}`, { by: "me" })).toMatchObject({ status: 422 });
    }
    expect(served.node.alertTables.notifications).toEqual([]);
  });

  it("is acknowledged also where others write at the same time", async () => {
    await using served = await serveOpen();
    for (const id of ["a1", "a2", "a3", "a4"]) keep(served, id);
    const answers = await Promise.all(["a1", "a2", "a3", "a4"].map((id) => post(served, `/alerts/${id}/acknowledge`)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect([...served.node.alertTables.alerts.values()].every(({ acknowledged }) => acknowledged !== null)).toBe(true);
  });
});

describe("POST /alerts/test", () => {
  it("tells every target of a rule, or of all, and says what happened to each", async () => {
    await using receiver = await NotificationReceiver.start();
    const alerts = [
      { name: "down", condition: "up == 0", notify: [`webhook:${receiver.url}/ok`] },
      { name: "slow", condition: "up == 1", notify: ["webhook:http://127.0.0.1:1/hush"] },
    ];
    await using served = await serveOpen({ alerts, notify: { webhook: { allow: ["127.0.0.1"] } } });
    const { host } = new URL(receiver.url);
    const one = await post(served, "/alerts/test", { rule: "down" });
    expect(one).toMatchObject({
      status: 200,
      body: {
        items: [
          { target: "log", outcome: "sent", problem: null },
          { target: expect.stringContaining(`webhook:${host}#`), outcome: "sent", problem: null },
        ],
      },
    });
    expect(receiver.notifications()).toMatchObject([
      { kind: "test", name: "down", summary: expect.stringContaining("a test") },
    ]);
    const all = await post(served, "/alerts/test");
    expect(all.body.items).toHaveLength(3);
    expect(all.body.items).toContainEqual({
      target: expect.stringContaining("webhook:127.0.0.1:1#"),
      outcome: "failed",
      problem: "the connection failed (ECONNREFUSED)",
    });
    expect(JSON.stringify(all.body)).not.toContain("hush");
  });

  it("knows no other rules than the node's", async () => {
    await using served = await serveOpen({ alerting: { defaults: false } });
    expect(await post(served, "/alerts/test", { rule: "nope" })).toMatchObject({
      status: 404,
      body: { error: "NOT_FOUND", message: 'There is no rule "nope". There are: none.' },
    });
  });
});
