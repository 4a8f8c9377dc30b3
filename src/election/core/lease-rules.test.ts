import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Holder, type Lease, type LeaseTerms, vacantLease } from "./lease.js";
import {
  type AcquireRequest,
  type DatabaseFacts,
  decideAcquire,
  decideRelease,
  decideRenew,
  type SessionFacts,
} from "./lease-rules.js";
import type { DatabaseIdentity, Epoch, Incarnation, NodeId, Role, SessionRef } from "./names.js";

const role = "scheduler" as Role;
const here = "db/1" as DatabaseIdentity;
const names = ["a", "b"] as const;

const holder = (name: string): Holder => ({
  nodeId: name as NodeId,
  incarnation: `${name}-1` as Incarnation,
  url: null,
});

const terms = fc.record<LeaseTerms>({
  ttlMs: fc.integer({ min: 1, max: 10_000 }),
  onStall: fc.constantFrom("depose", "hold"),
  takeover: fc.constantFrom("evidence", "lease"),
  evidenceGraceMs: fc.constantFrom(0, 250),
});

/** A row as any history can have left it. */
const lease: fc.Arbitrary<Lease> = fc
  .record({
    terms,
    by: fc.constantFrom(null, ...names),
    epoch: fc.bigInt({ min: 0n, max: 1_000n }),
    expiresAt: fc.integer({ min: 0, max: 30_000 }),
    identity: fc.constantFrom(here, here, here, "db/2" as DatabaseIdentity, null),
    reservedFor: fc.constantFrom(null, null, ...names),
    reservedUntil: fc.integer({ min: 0, max: 30_000 }),
  })
  .map(({ terms: given, by, epoch, identity, reservedFor, ...times }) => ({
    ...vacantLease(role),
    ...given,
    ...times,
    identity,
    epoch: epoch as Epoch,
    holder: by as NodeId | null,
    incarnation: (by === null ? null : `${by}-1`) as Incarnation | null,
    lockSession: (by === null ? null : `${by}-lock`) as SessionRef | null,
    witnessSession: (by === null ? null : `${by}-witness`) as SessionRef | null,
    reservedFor: reservedFor as NodeId | null,
  }));

const facts: fc.Arbitrary<DatabaseFacts & SessionFacts> = fc.record({
  now: fc.integer({ min: 0, max: 40_000 }),
  identity: fc.constantFrom(here, here, here, null),
  lockSessionAlive: fc.boolean(),
  witnessSessionAlive: fc.boolean(),
  lockSessionHolds: fc.boolean(),
  callerHolds: fc.boolean(),
  kills: fc.constantFrom(0, 1),
});

const request: fc.Arbitrary<AcquireRequest> = fc.record({
  holder: fc.constantFrom(...names).map(holder),
  terms,
  sessions: fc.constant({ lock: "new-lock" as SessionRef, witness: "new-witness" as SessionRef }),
  acquireDelayMs: fc.constantFrom(0, 0, 5_000),
  evidence: fc.option(
    fc.record({
      sighting: fc.record({
        epoch: fc.bigInt({ min: 0n, max: 1_000n }).map((epoch) => epoch as Epoch),
        lockSession: fc.constantFrom("a-lock", "b-lock").map((ref) => ref as SessionRef),
        witnessSession: fc.constantFrom("a-witness", "b-witness").map((ref) => ref as SessionRef),
        kills: fc.constantFrom(0, 1),
        lockedAt: fc.constant(null),
      }),
      graceServedMs: fc.constantFrom(0, 250),
    }),
  ),
});

/** Half of the scenes are a running lease and an heir that saw its holder, or hardly any evidence would be complete. */
const scene = fc.record({ lease, request, facts, running: fc.boolean() }).map(({ running, ...given }) => {
  const { evidence } = given.request;
  const { epoch, lockSession, witnessSession, ttlMs } = given.lease;
  if (!running || evidence === null || lockSession === null || witnessSession === null) return given;
  const sighting = { ...evidence.sighting, epoch, lockSession, witnessSession };
  return {
    lease: { ...given.lease, identity: here, expiresAt: given.facts.now + ttlMs },
    request: { ...given.request, evidence: { ...evidence, sighting } },
    facts: { ...given.facts, identity: here },
  };
});

const always = (
  check: (given: { lease: Lease; request: AcquireRequest; facts: DatabaseFacts & SessionFacts }) => void,
): void => fc.assert(fc.property(scene, check), { numRuns: 3_000 });

describe("an acquire", () => {
  it("never lets the epoch decrease, and raises it with every grant (G2)", () => {
    always(({ lease: row, request: asked, facts: seen }) => {
      const decision = decideAcquire(row, asked, seen);
      if (!("write" in decision) || decision.write === null) return;
      expect(decision.write.epoch).toBeGreaterThanOrEqual(row.epoch);
      if (decision.kind === "acquired" || decision.kind === "quarantined")
        expect(decision.write.epoch).toBeGreaterThan(row.epoch);
    });
  });

  it("ends a running lease only by evidence that is complete (R6)", () => {
    let granted = 0;
    always(({ lease: row, request: asked, facts: seen }) => {
      const decision = decideAcquire(row, asked, seen);
      if (decision.kind !== "acquired" || row.expiresAt <= seen.now) return;
      granted += 1;
      expect(decision.cause).toBe("evidence");
      expect(row.takeover).toBe("evidence");
      expect(asked.evidence?.sighting).toMatchObject({
        epoch: row.epoch,
        lockSession: row.lockSession,
        witnessSession: row.witnessSession,
      });
      expect(seen).toMatchObject({
        lockSessionAlive: false,
        witnessSessionAlive: false,
        callerHolds: true,
        kills: asked.evidence?.sighting.kills,
      });
      expect(asked.evidence?.graceServedMs).toBeGreaterThanOrEqual(row.evidenceGraceMs);
    });
    expect(granted).toBeGreaterThan(0);
  });

  it("keeps a stalled holder that asked for it while its session holds the lock (R7)", () => {
    const kinds = new Set<string>();
    always(({ lease: row, request: asked, facts: seen }) => {
      const held = row.onStall === "hold" && row.holder !== null && seen.lockSessionHolds && row.expiresAt <= seen.now;
      if (held) kinds.add(decideAcquire(row, asked, seen).kind);
    });
    expect(kinds).toContain("stalled");
    expect(kinds).not.toContain("acquired");
  });

  it("grants nothing in a database that did not write the row, before a quarantine (R3)", () => {
    always(({ lease: row, request: asked, facts: seen }) => {
      const foreign = row.identity !== null && seen.identity !== null && row.identity !== seen.identity;
      const decision = decideAcquire(row, asked, seen);
      expect(decision.kind === "quarantined").toBe(foreign);
      if (decision.kind === "quarantined")
        expect(decision.write).toMatchObject({ holder: null, identity: seen.identity });
    });
  });

  it("names the new holder, its sessions and its terms", () => {
    const free = vacantLease(role);
    const asked: AcquireRequest = {
      holder: holder("a"),
      terms: { ttlMs: 5_000, onStall: "hold", takeover: "lease", evidenceGraceMs: 250 },
      sessions: { lock: "l" as SessionRef, witness: "w" as SessionRef },
      acquireDelayMs: 0,
      evidence: null,
    };
    const seen = {
      now: 100,
      identity: here,
      lockSessionAlive: false,
      witnessSessionAlive: false,
      lockSessionHolds: false,
      callerHolds: false,
      kills: 0,
    };
    expect(decideAcquire(free, asked, seen)).toMatchObject({
      kind: "acquired",
      cause: "first",
      write: {
        epoch: 1n,
        holder: "a",
        incarnation: "a-1",
        expiresAt: 5_100,
        onStall: "hold",
        takeover: "lease",
        lockSession: "l",
        witnessSession: "w",
        identity: here,
      },
    });
  });
});

describe("a renewal", () => {
  it("keeps the epoch and the holder, and needs the exact ones (R4)", () => {
    fc.assert(
      fc.property(
        lease,
        facts,
        fc.constantFrom(...names).map(holder),
        fc.bigInt({ min: 0n, max: 1_000n }),
        (row, seen, by, epoch) => {
          const decision = decideRenew(
            row,
            { epoch: epoch as Epoch, holder: by, sessions: { lock: null, witness: null } },
            seen,
          );
          if (decision.kind === "lost") return;
          expect([row.epoch, row.incarnation]).toEqual([epoch, by.incarnation]);
          expect(decision.write).toMatchObject({ epoch: row.epoch, holder: row.holder });
          if (row.expiresAt <= seen.now) expect([row.onStall, seen.callerHolds]).toEqual(["hold", true]);
        },
      ),
    );
  });
});

describe("a release", () => {
  it("keeps the epoch, and needs the exact holder of an unexpired lease (R4)", () => {
    fc.assert(
      fc.property(lease, facts, fc.constantFrom(...names).map(holder), (row, seen, by) => {
        const decision = decideRelease(row, { epoch: row.epoch, holder: by, to: null, reserveMs: 0 }, seen);
        if (decision.kind === "lost") return;
        expect(row.incarnation).toBe(by.incarnation);
        expect(row.expiresAt).toBeGreaterThan(seen.now);
        expect(decision.write).toMatchObject({ epoch: row.epoch, holder: null, expiresAt: seen.now });
      }),
    );
  });
});
