import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { StoreNews, TidyRules } from "../../src/store/contract.js";
import { memoryHarness, Player, postgresHarness, role, type StoreHarness } from "./harness.js";

const hour = 3_600_000;
const nothing: TidyRules = {
  nodeTimeoutMs: hour,
  markDead: true,
  forgetAfterMs: 24 * hour,
  historyDays: 0,
  auditDays: 0,
};
/** No time has to pass for these: whoever is not beating this very moment is silent. */
const allSilent: TidyRules = { ...nothing, nodeTimeoutMs: 0 };
const allOld: TidyRules = { ...nothing, forgetAfterMs: 0 };

/** What every store keeps of nodes, requests, tokens, audit and snapshots. */
describe.each([
  ["memory", memoryHarness],
  ["postgres", postgresHarness],
] as const)("membership in the %s store", (_name, makeHarness) => {
  let harness: StoreHarness;
  let a: Player;
  let b: Player;

  beforeEach(async () => {
    harness = await makeHarness();
    a = await Player.join(harness, "a");
    b = await Player.join(harness, "b");
  });

  afterEach(async () => {
    a.crash();
    b.crash();
    await harness[Symbol.asyncDispose]();
  });

  const statuses = async () =>
    Object.fromEntries((await a.store.registry.nodes()).map(({ nodeId, status }) => [nodeId, status]));
  const hear = (player: Player) => {
    const heard: StoreNews[] = [];
    player.store.registry.follow((news) => heard.push(news));
    return heard;
  };

  describe("the registry", () => {
    it("tells how busy a node is as of its last beat", async () => {
      a.store.registry.reportLoad(() => ({
        currentConnections: 12,
        currentJobs: 3,
        cpuUsage: 0.25,
        memoryUsage: 0.5,
        configVersion: 7,
        contends: ["scheduler", "reporter"],
      }));
      await a.beat();
      expect(await b.store.registry.node("a")).toMatchObject({
        currentConnections: 12,
        currentJobs: 3,
        cpuUsage: 0.25,
        memoryUsage: 0.5,
        configVersion: 7,
        contends: ["scheduler", "reporter"],
      });
      expect(await b.store.registry.node("nobody")).toBeNull();
    });

    it("marks the silent as dead, draining ones too, and a beat revives them", async () => {
      b.store.registry.setStatus("draining");
      await b.beat();
      const tidied = async () => {
        await a.store.registry.tidy(allSilent);
        return await statuses();
      };
      await expect.poll(tidied).toEqual({ a: "dead", b: "dead" });
      a.store.registry.setStatus("active");
      await a.beat();
      await b.beat();
      expect(await statuses()).toEqual({ a: "active", b: "draining" });
    });

    it("marks nobody where that is not wanted, and nobody who left", async () => {
      await b.store.registry.leave();
      await a.store.registry.tidy({ ...allSilent, markDead: false });
      expect(await statuses()).toEqual({ a: "active", b: "left" });
      await expect.poll(async () => (await a.store.registry.tidy(allSilent)).died).toEqual(["a"]);
      expect(await statuses()).toEqual({ a: "dead", b: "left" });
    });

    it("keeps the tombstone of a node whose last beat comes after it has left", async () => {
      await b.store.registry.leave();
      await b.beat();
      expect(await statuses()).toEqual({ a: "active", b: "left" });
    });

    it("forgets old rows, and a forgotten node that still beats enters again", async () => {
      const tidied = async () => {
        await a.store.registry.tidy(allOld);
        return await statuses();
      };
      await expect.poll(tidied).toEqual({});
      a.store.registry.setStatus("active");
      await a.beat();
      expect(await statuses()).toEqual({ a: "active" });
    });

    it("tells with every beat how many nodes there are of each status", async () => {
      const heard = hear(a);
      await b.store.registry.leave();
      await a.beat();
      expect(heard.at(-1)).toMatchObject({
        kind: "beat",
        members: { joining: 0, active: 1, draining: 0, dead: 0, left: 1 },
        configVersion: 0,
      });
    });
  });

  describe("requests", () => {
    const ask = (nodeId: string, kind: "drain" | "resume" = "drain") =>
      b.store.requests.send({ kind, nodeId, role: null, to: null, requestedBy: "test" }, hour);
    const stepDown = (to: string | null = null) =>
      b.store.requests.send({ kind: "step_down", nodeId: null, role, to, requestedBy: "test" }, hour);

    it("reach the node by a hint and by its beat, and are answered once", async () => {
      const heard = hear(a);
      const sent = await ask("a");
      expect(sent).toMatchObject({ kind: "drain", nodeId: "a", actedAt: null, outcome: null });
      await expect.poll(() => heard.map(({ kind }) => kind)).toContain("requested");
      expect(await a.store.requests.pending()).toMatchObject([{ id: sent.id }]);
      expect(await b.store.requests.pending()).toEqual([]);
      await a.beat();
      expect(heard.at(-1)).toMatchObject({ requests: [{ id: sent.id }] });
      await a.store.requests.answer(sent.id, { kind: "done" });
      await a.store.requests.answer(sent.id, { kind: "refused", message: "too late" });
      expect(await b.store.requests.read(sent.id)).toMatchObject({
        outcome: { kind: "done" },
        actedAt: expect.any(Number),
      });
      await a.beat();
      expect(heard.at(-1)).toMatchObject({ requests: [] });
    });

    it("carry the reason of a refusal back", async () => {
      const { id } = await ask("a", "resume");
      await a.store.requests.answer(id, { kind: "refused", message: "not now" });
      expect(await b.store.requests.read(id)).toMatchObject({ outcome: { kind: "refused", message: "not now" } });
    });

    it("for a step-down go to whoever leads", async () => {
      await expect(stepDown()).rejects.toMatchObject({ code: "NO_LEADER" });
      await a.lead();
      expect(await stepDown("b")).toMatchObject({ nodeId: "a", role, to: "b" });
    });

    it("are refused where nobody is there to act", async () => {
      await expect(ask("nobody")).rejects.toMatchObject({ code: "UNKNOWN_NODE" });
      await a.store.registry.leave();
      await expect(ask("a")).rejects.toMatchObject({ code: "NODE_GONE" });
      const unknown = { kind: "step_down", nodeId: null, role: "unheard-of" as typeof role, to: null } as const;
      await expect(b.store.requests.send({ ...unknown, requestedBy: "test" }, hour)).rejects.toMatchObject({
        code: "UNKNOWN_ROLE",
      });
    });
  });

  describe("tokens", () => {
    const order = (name: string, hash: string, lifetimeMs: number | null = null) => ({
      name,
      role: "viewer" as const,
      grants: ["audit:read" as const],
      hash: hash.repeat(64),
      lifetimeMs,
      createdBy: "test",
    });

    it("are listed with a version that every change raises, and that comes with the beat", async () => {
      const heard = hear(b);
      const before = await a.store.access.tokens();
      expect(before.tokens).toEqual([]);
      const token = await a.store.access.createToken(order("one", "a", hour));
      const created = await a.store.access.tokens();
      expect(created.accessVersion).toBeGreaterThan(before.accessVersion);
      expect(created.tokens).toEqual([token]);
      expect(token).toMatchObject({ name: "one", role: "viewer", grants: ["audit:read"], revokedAt: null });
      expect((token.expiresAt ?? 0) - created.now).toBeGreaterThan(0.9 * hour);
      expect(await a.store.access.revokeToken(token.id)).toMatchObject({ revokedAt: expect.any(Number) });
      const revoked = await a.store.access.tokens();
      expect(revoked.accessVersion).toBeGreaterThan(created.accessVersion);
      expect(revoked.tokens).toMatchObject([{ id: token.id, revokedAt: expect.any(Number) }]);
      await b.beat();
      expect(heard.at(-1)).toMatchObject({ accessVersion: revoked.accessVersion });
    });

    it("have a name of their own while they live", async () => {
      const first = await a.store.access.createToken(order("one", "a"));
      await expect(b.store.access.createToken(order("one", "b"))).rejects.toMatchObject({ code: "REFUSED" });
      await a.store.access.revokeToken(first.id);
      await b.store.access.createToken(order("one", "b", 0));
      await expect.poll(() => a.store.access.createToken(order("one", "c")).then(() => "made", String)).toBe("made");
    });

    it("that do not exist cannot be revoked", async () => {
      expect(await a.store.access.revokeToken("999")).toBeNull();
      expect(await a.store.access.revokeToken("one'; drop table tokens")).toBeNull();
    });
  });

  it("the audit pages back from the newest line", async () => {
    for (const action of ["first", "second", "third"]) {
      const id = await a.store.access.beginAudit({ actor: "me", action, target: null, address: null });
      if (action === "first") continue;
      await b.store.access.finishAudit(id, "200", "it");
      await b.store.access.finishAudit(id, "500", "another"); // A line gets its outcome once.
    }
    const page = await b.store.access.audit({ limit: 2 });
    expect(page.map(({ action }) => action)).toEqual(["third", "second"]);
    expect(page[0]).toMatchObject({ actor: "me", nodeId: "a", outcome: "200", target: "it" });
    const rest = await b.store.access.audit({ limit: 2, before: page.at(-1)?.id ?? "" });
    expect(rest).toMatchObject([{ action: "first", outcome: "begun" }]);
  });

  it("the history pages the same way", async () => {
    await a.lead();
    await a.store.advanceEpoch(role, 5n as never);
    const page = await b.store.history({ limit: 1 });
    expect(page).toMatchObject([{ event: "advanced" }]);
    expect(await b.store.history({ limit: 5, before: page[0]?.id ?? "" })).toMatchObject([{ event: "elected" }]);
  });

  it("each node's newest snapshot is there for all, until it leaves", async () => {
    await a.store.snapshots.save("old");
    await a.store.snapshots.save("new");
    await b.store.snapshots.save("other");
    const seen = async () => (await b.store.snapshots.all()).map(({ nodeId, text }) => [nodeId, text]);
    expect(await seen()).toEqual([
      ["a", "new"],
      ["b", "other"],
    ]);
    await a.store.registry.leave();
    expect(await seen()).toEqual([["b", "other"]]);
  });
});
