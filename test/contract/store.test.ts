import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { epochOf } from "../../src/election/core/names.js";
import { HoldfastError, StaleEpochError } from "../../src/errors.js";
import { givesEvidence } from "../support/postgres-version.js";
import { acquireAfterCrash, memoryHarness, Player, postgresHarness, role, type StoreHarness } from "./harness.js";

/** One suite for every store. A new one is done when it passes, and docs/guides/new-store.md holds for it. */
describe.each([
  ["memory", memoryHarness, true],
  ["postgres", postgresHarness, givesEvidence()],
] as const)("the %s store", (_name, makeHarness, evidence) => {
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

  describe("acquire", () => {
    it("gives the first holder epoch 1, and tells the next how long the lease still runs", async () => {
      expect(await a.acquire()).toMatchObject({ kind: "acquired", epoch: 1n, cause: "first" });
      const held = await b.acquire();
      expect(held).toMatchObject({ kind: "held", view: { holder: "a", holderUrl: "http://a", epoch: 1n } });
      if (held.kind === "held") expect(held.remainingMs).toBeGreaterThan(0);
    });

    it("is open to another once the lease has run out, with the next epoch", async () => {
      await a.lead();
      await harness.advance(5_001);
      expect(await b.acquire()).toMatchObject({ kind: "acquired", epoch: 2n, cause: "expired" });
    });

    it("never hands a lease that still runs to its own holder again: a lost reply is not adopted", async () => {
      await a.acquire();
      expect(await a.acquire()).toMatchObject({ kind: "held" });
    });

    it("waits for the caller's acquire delay beyond the end of the lease", async () => {
      await a.lead();
      await harness.advance(5_500);
      expect(await b.acquire({ delayMs: 5_000 })).toMatchObject({ kind: "held" });
      await harness.advance(5_000);
      expect(await b.acquire({ delayMs: 5_000 })).toMatchObject({ kind: "acquired" });
    });

    it("cuts a lease that lies beyond its TTL, when the database's clock was stepped back", async () => {
      await a.lead();
      await harness.advance(-3_600_000);
      const held = await b.acquire();
      expect(held).toMatchObject({ kind: "held" });
      if (held.kind === "held") expect(held.remainingMs).toBeLessThanOrEqual(5_000);
      expect((await b.beat()).view.remainingMs).toBeLessThanOrEqual(5_000);
    });
  });

  describe("renewal", () => {
    it("extends the lease of the exact epoch", async () => {
      await a.lead();
      await harness.advance(2_500);
      expect(await a.renew(1n)).toBe("renewed");
      expect((await a.beat()).view.remainingMs).toBeGreaterThan(2_500);
    });

    it("is a loss with any other epoch, from any other process, and after the lease has run out", async () => {
      await a.lead();
      expect(await a.renew(2n)).toBe("superseded");
      expect(await b.renew(1n)).toBe("superseded");
      await harness.advance(5_001);
      expect(await a.renew(1n)).toBe("expired");
    });
  });

  describe("a reconnected holder", () => {
    it.runIf(evidence)("stays named by its new sessions, when a beat on the old one comes late", async () => {
      const epoch = await a.lead();
      const before = { lock: a.lock, sessions: a.sessions };
      a.lock = await a.store.openLock({ closed: () => undefined });
      await a.renew(epoch);
      const late = { role, renew: epoch, lock: "drop", heir: null } as const;
      await before.lock.beat([late], before.sessions);
      before.lock.close();
      await a.beat({ lock: "take" });
      expect((await b.sight()).lockSession).toBe(a.lock.ref);
    });
  });

  describe("release", () => {
    it("opens the lease at once, and keeps the epoch", async () => {
      await a.lead();
      await a.release(1n);
      expect((await b.beat()).view).toMatchObject({ holder: null, epoch: 1n });
      expect(await b.acquire()).toMatchObject({ kind: "acquired", epoch: 2n, cause: "released" });
    });

    it("of a successor's lease, or of another epoch, changes nothing", async () => {
      await a.lead();
      await b.release(1n);
      await a.release(7n);
      expect(await a.renew(1n)).toBe("renewed");
    });

    it("in favour of a named node keeps the lease for it, for a while", async () => {
      await a.lead();
      await a.release(1n, "c");
      expect(await b.acquire()).toMatchObject({ kind: "reserved" });
      await harness.advance(20_001);
      expect(await b.acquire()).toMatchObject({ kind: "acquired", cause: "released" });
    });

    it("lets the named node in at once, whatever its acquire delay", async () => {
      await a.lead();
      await a.release(1n, "b");
      expect(await b.acquire({ delayMs: 60_000 })).toMatchObject({ kind: "acquired", epoch: 2n, cause: "handover" });
    });
  });

  describe("locks", () => {
    it("belong to one session at a time, and end with it", async () => {
      expect((await a.beat({ heir: "take" })).answer).toMatchObject({ isHeir: true });
      expect((await b.beat({ heir: "take" })).answer).toMatchObject({ isHeir: false });
      expect((await a.beat({ heir: "drop" })).answer).toMatchObject({ isHeir: false });
      expect((await b.beat({ heir: "take" })).answer).toMatchObject({ isHeir: true });
      b.crash();
      await expect.poll(async () => (await a.beat({ heir: "take" })).answer?.isHeir).toBe(true);
    });
  });

  describe("crash evidence", () => {
    it.runIf(evidence)(
      "lets the heir take over before the lease has run out, when both sessions it saw are gone",
      async () => {
        await a.lead();
        const waiting = b.wait(await b.sight(), 900);
        a.crash();
        let reply = await waiting;
        while (reply.kind === "timeout") reply = await b.wait(reply.sighting, 900);
        expect(reply.kind).toBe("locked");
        if (reply.kind !== "locked") return;
        expect(await acquireAfterCrash(b, reply.sighting)).toMatchObject({
          kind: "acquired",
          epoch: 2n,
          cause: "evidence",
        });
      },
    );

    it.runIf(evidence)(
      "counts what the same session saw in the slice before, when the crash falls between two",
      async () => {
        await a.lead();
        const sighting = await b.sight();
        a.crash();
        await expect.poll(async () => (await b.wait(sighting)).kind).toBe("locked");
        expect(await acquireAfterCrash(b, sighting)).toMatchObject({ kind: "acquired", cause: "evidence" });
      },
    );

    it("does not arise where nobody was seen holding the lock", async () => {
      expect(await b.wait()).toEqual({ kind: "unheld" });
      await a.acquire(); // Leads, but has not taken the lock.
      expect(await b.wait()).toEqual({ kind: "unheld" });
    });

    it.runIf(!evidence)("is none before PostgreSQL 15: nobody is seen, and a crash waits for the lease", async () => {
      await a.lead();
      expect(await b.wait()).toEqual({ kind: "unheld" });
      a.crash();
      expect(await b.wait()).toEqual({ kind: "unheld" });
      expect(await b.acquire()).toMatchObject({ kind: "held", view: { holder: "a", epoch: 1n } });
      await harness.advance(5_001);
      expect(await b.acquire()).toMatchObject({ kind: "acquired", epoch: 2n, cause: "expired" });
    });

    it.runIf(evidence)("is incomplete while the witness lives", async () => {
      await a.lead();
      const sighting = await b.sight();
      a.lock.close();
      await expect.poll(async () => (await b.wait(sighting)).kind).toBe("locked");
      expect(await b.acquire({ sighting })).toEqual({ kind: "lingering" });
    });

    it.runIf(evidence)("is void when an administrator ended the sessions", async () => {
      await a.lead();
      const sighting = await b.sight();
      await harness.kill(a.lock.ref as never);
      await harness.kill(a.witness.ref as never);
      await expect.poll(async () => (await b.wait(sighting)).kind).toBe("locked");
      expect(await acquireAfterCrash(b, sighting)).toMatchObject({ kind: "void", reason: "killed" });
      expect(await b.wait(null)).toEqual({ kind: "unheld" });
    });

    it.runIf(evidence)("is void against a holder that was not the one seen", async () => {
      await a.lead();
      const sighting = { ...(await b.sight()), epoch: epochOf(9) };
      expect(await b.acquire({ sighting })).toMatchObject({ kind: "void", reason: "unseen" });
    });

    it.runIf(evidence)("is void without the lock, and against a holder that allows none", async () => {
      await a.lead();
      expect(await b.acquire({ sighting: await b.sight() })).toMatchObject({ kind: "void", reason: "lock_not_held" });
      await a.release(1n);
      await a.lead({ terms: { takeover: "lease" } });
      expect(await b.acquire({ sighting: await b.sight() })).toMatchObject({ kind: "void", reason: "lease_only" });
    });

    it.runIf(evidence)("waits out the grace that the holder asked for", async () => {
      await a.lead({ terms: { evidenceGraceMs: 250 } });
      const sighting = await b.sight();
      a.crash();
      await expect.poll(async () => (await b.wait(sighting)).kind).toBe("locked");
      expect(await acquireAfterCrash(b, sighting)).toEqual({ kind: "grace", waitMs: 250 });
      expect(await acquireAfterCrash(b, sighting, { servedMs: 250 })).toMatchObject({
        kind: "acquired",
        cause: "evidence",
      });
    });
  });

  describe("a holder that asked to keep the role while it stalls", () => {
    it("is not deposed while its session holds the lock, and may renew late", async () => {
      await a.lead({ terms: { onStall: "hold" } });
      await harness.advance(60_000);
      expect(await b.acquire()).toEqual({ kind: "stalled" });
      expect(await a.renew(1n)).toBe("renewed");
    });

    it("loses the role when its session is gone and the lease has run out", async () => {
      await a.lead({ terms: { onStall: "hold" } });
      await harness.advance(60_000);
      a.crash();
      await expect.poll(async () => (await b.acquire()).kind).toBe("acquired");
    });

    it("may not renew late without the lock", async () => {
      await a.lead({ terms: { onStall: "hold" } });
      await a.beat({ lock: "drop" });
      await harness.advance(60_000);
      expect(await a.renew(1n)).toBe("expired");
    });
  });

  describe("another database behind the same rows", () => {
    it("is quarantined for a TTL, with an epoch above all that the lost one can have given", async () => {
      const before = BigInt(Math.floor(Date.now() / 1000) - 5) << 21n;
      await a.lead();
      await harness.becomeAnother();
      expect((await b.beat()).view.isForeign).toBe(true);
      expect(await a.renew(1n)).toBe("database_changed");
      const reply = await b.acquire();
      expect(reply).toMatchObject({ kind: "quarantined", view: { holder: null, isForeign: false } });
      if (reply.kind === "quarantined") expect(reply.view.epoch).toBeGreaterThan(before);
      expect(await b.acquire()).toMatchObject({ kind: "held" });
      await harness.advance(5_001);
      expect(await b.acquire()).toMatchObject({ kind: "acquired" });
    });
  });

  describe("the fence", () => {
    it("lets a transaction of the current epoch commit", async () => {
      await a.lead();
      await expect(a.store.transaction(a.fence(1n), async () => await Promise.resolve("done"))).resolves.toBe("done");
    });

    it("refuses one whose epoch ended while it ran", async () => {
      await a.lead();
      const stale = a.store.transaction(a.fence(1n), async () => {
        await harness.advance(5_001);
        await b.acquire();
      });
      await expect(stale).rejects.toThrow(StaleEpochError);
    });

    it("refuses one whose epoch was given by another database, though the row still shows it", async () => {
      await a.lead();
      await harness.becomeAnother();
      const stale = a.store.transaction(a.fence(1n), async () => await Promise.resolve());
      await expect(stale).rejects.toThrow(StaleEpochError);
    });

    it("answers whether a term still holds its lease", async () => {
      await a.lead();
      expect(await a.store.verify(a.fence(1n))).toBe(true);
      expect(await b.store.verify(b.fence(1n))).toBe(false);
      await harness.advance(5_001);
      expect(await a.store.verify(a.fence(1n))).toBe(false);
    });

    it("passes on what the function itself throws", async () => {
      await a.lead();
      const failing = a.store.transaction(a.fence(1n), () => Promise.reject(new RangeError("mine")));
      await expect(failing).rejects.toThrow(RangeError);
    });
  });

  describe("the record", () => {
    it("keeps every transition with its reason, newest first", async () => {
      await a.lead();
      await a.release(1n);
      await b.lead();
      const lines = await a.store.history({ role, limit: 10 });
      expect(lines.map(({ event, reason, epoch, nodeId }) => ({ event, reason, epoch, nodeId }))).toEqual([
        { event: "elected", reason: "released", epoch: 2n, nodeId: "b" },
        { event: "released", reason: "stepped_down", epoch: 1n, nodeId: "a" },
        { event: "elected", reason: "first", epoch: 1n, nodeId: "a" },
      ]);
    });

    it("raises an epoch on an operator's word, and deposes whoever led", async () => {
      await a.lead();
      expect(await b.store.advanceEpoch(role, epochOf(1_000))).toBe(1_000n);
      expect(await a.renew(1n)).toBe("superseded");
      expect(await b.store.advanceEpoch(role, epochOf(5))).toBe(1_001n);
    });
  });

  describe("the registry", () => {
    it.runIf(evidence)("takes the end of a process that left with a lease for no crash (R9)", async () => {
      await a.lead();
      const sighting = await b.sight();
      await a.store.registry.leave();
      a.crash();
      expect((await b.acquire({ sighting })).kind).toBe("void");
      expect(await b.wait(sighting)).toEqual({ kind: "unheld" });
      expect(await b.acquire()).toMatchObject({ kind: "held" });
    });

    it("shows the nodes that joined, and a tombstone for one that left", async () => {
      await b.store.registry.leave();
      const nodes = await a.store.registry.nodes();
      expect(nodes.map(({ nodeId, status }) => [nodeId, status])).toEqual([
        ["a", "active"],
        ["b", "left"],
      ]);
    });

    it("refuses a second process with the id of a living one", async () => {
      await a.beat();
      const twin = await harness.open();
      const report = {
        ...a.holder,
        incarnation: "a-2" as never,
        status: "active",
        hostname: "x",
        pid: 2,
        version: "0",
        roles: [],
        workerCapabilities: [],
        ipAddress: null,
        httpPort: null,
        grpcPort: null,
        promotable: true,
        clustered: true,
      } as const;
      await expect(twin.registry.join(report)).rejects.toThrow(HoldfastError);
      a.crash();
      await expect
        .poll(() =>
          twin.registry.join(report).then(
            () => "joined",
            () => "refused",
          ),
        )
        .toBe("joined");
    });
  });
});
