import { describe, expect, it } from "vitest";
import { step } from "./elector-core.js";
import { type ElectorSettings, type ElectorState, initialState } from "./elector-state.js";
import { gateIsOpen } from "./leading.js";
import { type LeaseTerms, type LeaseView, vacantLease, viewOf } from "./lease.js";
import type { BeatAnswer, Effect, Input } from "./messages.js";
import { epochOf, type Incarnation, type NodeId, type Role, type SessionRef } from "./names.js";
import { deriveTiming } from "./timing.js";
import type { Instant } from "./trust.js";

const role = "scheduler" as Role;
const me = { nodeId: "me" as NodeId, incarnation: "me-1" as Incarnation, url: null };
const terms: LeaseTerms = { ttlMs: 5_000, onStall: "depose", takeover: "evidence", evidenceGraceMs: 0 };

/** Steps one elector by hand, and keeps what it asked for. */
class Driver {
  state: ElectorState;
  now = 0;
  effects: readonly Effect[] = [];

  constructor(settings: Partial<ElectorSettings> = {}, evidenceGraceMs = 0) {
    const timing = deriveTiming({
      heartbeatMs: 1_000,
      fenceMs: 3_500,
      ttlMs: 5_000,
      nodeTimeoutMs: 5_000,
      acquireDelayMs: 0,
      evidenceGraceMs,
      drainTimeoutMs: 2_000,
    });
    this.state = initialState(
      { holder: me, timing, terms: { ...terms, evidenceGraceMs }, promotable: true, ...settings },
      true,
    );
  }

  private get instant(): Instant {
    return { mono: this.now, wall: this.now, boot: this.now };
  }

  give(input: Input): this {
    const next = step(this.state, input, this.instant, () => 0.5);
    this.state = next.state;
    this.effects = next.effects;
    const reap = this.effects.find((effect) => effect.kind === "reap");
    if (reap?.kind === "reap")
      this.state = step(this.state, { kind: "reapReplied", id: reap.id }, this.instant, () => 0.5).state;
    return this;
  }

  wait(ms: number): this {
    this.now += ms;
    return this.give({ kind: "tick" });
  }

  find<Kind extends Effect["kind"]>(kind: Kind): Extract<Effect, { kind: Kind }> {
    const found = this.effects.find((effect) => effect.kind === kind);
    if (found === undefined)
      throw new Error(`no ${kind} among ${this.effects.map((effect) => effect.kind).join(", ")}`);
    return found as Extract<Effect, { kind: Kind }>;
  }

  has(kind: Effect["kind"]): boolean {
    return this.effects.some((effect) => effect.kind === kind);
  }

  answer(answer: Partial<BeatAnswer>, view: LeaseView): this {
    const { id } = this.find("beat");
    const answers = [{ role, renewal: null, holdsLock: null, isHeir: null, ...answer }];
    return this.give({ kind: "beatReplied", id, reply: { answers, leases: [view] } });
  }

  /** Connected, and heir of a role that nobody leads. */
  join(): this {
    this.give({ kind: "contend", role });
    this.give({ kind: "opened", link: { kind: "lock" }, ref: "lock" as SessionRef, path: "direct" });
    this.answer({}, view(null, 0));
    this.give({ kind: "opened", link: { kind: "witness" }, ref: "witness" as SessionRef, path: "direct" });
    this.answer({ isHeir: true }, view(null, 0));
    return this.give({
      kind: "opened",
      link: { kind: "campaign", role },
      ref: "campaign" as SessionRef,
      path: "direct",
    });
  }

  /** Connected, while another node leads. */
  follow({ isHeir }: { readonly isHeir: boolean }): this {
    this.give({ kind: "contend", role });
    this.give({ kind: "opened", link: { kind: "lock" }, ref: "lock" as SessionRef, path: "direct" });
    this.answer({}, view("other", 5_000, 1));
    this.give({ kind: "opened", link: { kind: "witness" }, ref: "witness" as SessionRef, path: "direct" });
    return this.answer({ isHeir }, view("other", 5_000, 1));
  }

  win(): this {
    const { id } = this.find("acquire");
    const reply = {
      kind: "acquired",
      epoch: epochOf(1),
      cause: "first",
      gapMs: 0,
      view: view("me", 5_000, 1),
    } as const;
    return this.give({ kind: "acquireReplied", role, id, reply });
  }

  get gateOpen(): boolean {
    const term = this.state.roles.get(role)?.term ?? null;
    const grace = this.state.settings.terms.evidenceGraceMs;
    return term !== null && gateIsOpen(term, grace, this.now, this.now, () => this.now);
  }
}

function view(holder: string | null, remainingMs: number, epoch = 0): LeaseView {
  const lease = { ...vacantLease(role), epoch: epochOf(epoch), ttlMs: 5_000, expiresAt: remainingMs };
  const held =
    holder === null ? lease : { ...lease, holder: holder as NodeId, incarnation: `${holder}-1` as Incarnation };
  return viewOf(held, 0, false);
}

const renewed = { renewal: { kind: "renewed" } } as const;

describe("a standby", () => {
  it("asks for an open lease, leads when it gets it, and renews at once", () => {
    const node = new Driver().join().win();
    expect(node.find("elected")).toMatchObject({ epoch: 1n, cause: "first" });
    expect(node.find("beat").orders).toEqual([{ role, renew: 1n, lock: "take", heir: "drop" }]);
    expect(node.gateOpen).toBe(true);
  });

  it("asks for a beat an interval, and for nothing else, while another leads", () => {
    const node = new Driver().follow({ isHeir: false });
    for (let beat = 0; beat < 4; beat += 1) {
      node.wait(1_000);
      expect(node.effects.map((effect) => effect.kind)).toEqual(["beat", "wake"]);
      node.answer({ isHeir: false }, view("other", 5_000, 1));
    }
  });

  it("that stood still itself looks once more at the sessions that it saw linger, and drops the evidence only then", () => {
    const node = new Driver().follow({ isHeir: true });
    const link = { kind: "campaign", role } as const;
    node.give({ kind: "opened", link, ref: "campaign" as SessionRef, path: "direct" });
    const sighting = {
      epoch: epochOf(1),
      lockSession: "1" as SessionRef,
      witnessSession: "2" as SessionRef,
      kills: 0,
      lockedAt: 0,
    };
    node.give({ kind: "waitReplied", role, id: node.find("wait").id, reply: { kind: "locked", sighting } });
    const lingering = (): Input => ({
      kind: "acquireReplied",
      role,
      id: node.find("acquire").id,
      reply: { kind: "lingering" },
    });
    const first = lingering();
    node.now = 1_000;
    node.give(first);
    expect(node.has("evidenceRefused")).toBe(false);
    node.wait(3);
    node.give(lingering());
    expect(node.find("evidenceRefused")).toMatchObject({ reason: "lingering" });
  });

  it("opens no session for a lease that it hears is free, before it is its turn to ask", () => {
    const node = new Driver().follow({ isHeir: false });
    node.give({ kind: "noticed", role, notice: { kind: "released", epoch: epochOf(1), to: null } });
    expect(node.has("open")).toBe(false);
    node.wait(500);
    expect(node.find("open")).toMatchObject({ link: { kind: "campaign" } });
  });

  it("never adopts a lease whose grant it did not hear of: it gives it back by its exact epoch (R3)", () => {
    const node = new Driver().join();
    node.give({ kind: "closed", link: { kind: "campaign", role } });
    node.wait(1_000).answer({ isHeir: true }, view("me", 4_000, 7));
    expect(node.has("elected")).toBe(false);
    expect(node.find("release")).toMatchObject({ epoch: 7n });
  });

  it("does not lead by a grant that took longer than the trust it would give (R5)", () => {
    const node = new Driver().join();
    node.now += 1_100; // Still waited for, and the trust that counts from the sending is 3.5 s.
    node.win();
    expect(node.gateOpen).toBe(true);
    node.now = 3_600;
    expect(node.gateOpen).toBe(false);
  });

  it("takes no notice of a reply to a request that it has given up", () => {
    const node = new Driver().join();
    const { id } = node.find("acquire");
    node.wait(1_200);
    expect(node.find("close")).toMatchObject({ link: { kind: "campaign" } });
    const reply = {
      kind: "acquired",
      epoch: epochOf(1),
      cause: "first",
      gapMs: 0,
      view: view("me", 5_000, 1),
    } as const;
    node.give({ kind: "acquireReplied", role, id, reply });
    expect(node.has("elected")).toBe(false);
  });

  it("waits for its first renewal before it calls itself elected, where a grace keeps the gate shut until then", () => {
    const node = new Driver({}, 400).join().win();
    expect(node.has("elected")).toBe(false);
    node.answer({ ...renewed, holdsLock: true }, view("me", 5_000, 1));
    expect(node.find("elected")).toMatchObject({ epoch: 1n });
    expect(node.gateOpen).toBe(true);
  });

  it("gives up a witness that no longer answers", () => {
    const node = new Driver().join();
    const silent = (): void => {
      const next = step(node.state, { kind: "tick" }, { mono: node.now, wall: node.now, boot: node.now }, () => 0.5);
      node.state = next.state;
      node.effects = next.effects;
    };
    node.now = 5_000;
    silent();
    expect(node.has("reap")).toBe(true);
    node.now += 1_200;
    silent();
    expect(node.effects).toContainEqual({ kind: "close", link: { kind: "witness" } });
  });
});

describe("a leader", () => {
  const leading = (): Driver =>
    new Driver()
      .join()
      .win()
      .answer({ ...renewed, holdsLock: true, isHeir: false }, view("me", 5_000, 1));

  const steppedDown = (drainMs = 0): Driver => {
    const node = leading();
    node.give({ kind: "stepDown", role, to: null, reason: "stepped_down", yieldMs: 5_000 });
    if (drainMs > 0) node.wait(drainMs).answer(renewed, view("me", 5_000, 1));
    return node.give({ kind: "workSettled", role, epoch: epochOf(1) });
  };

  it("trusts a renewal from its sending, not from its reply (R5)", () => {
    const node = leading();
    node.wait(1_000);
    const { id } = node.find("beat");
    node.now += 1_000;
    node.give({
      kind: "beatReplied",
      id,
      reply: { answers: [{ role, ...renewed, holdsLock: null, isHeir: null }], leases: [] },
    });
    node.now = 1_000 + 3_499;
    expect(node.gateOpen).toBe(true);
    node.now = 1_000 + 3_500;
    expect(node.gateOpen).toBe(false);
  });

  it("ends its term when its trust has run out, before it looks at anything else", () => {
    const node = leading();
    node.wait(1_000);
    const { id } = node.find("beat");
    node.now = 3_501;
    node.give({
      kind: "beatReplied",
      id,
      reply: { answers: [{ role, ...renewed, holdsLock: null, isHeir: null }], leases: [] },
    });
    expect(node.find("ended")).toMatchObject({ epoch: 1n, reason: "trust_ran_out" });
    expect(node.gateOpen).toBe(false);
  });

  it("shuts its gate when a session closes, and reopens it with the same epoch by a renewal sent later", () => {
    const node = leading();
    node.now = 500;
    node.give({ kind: "closed", link: { kind: "lock" } });
    expect(node.gateOpen).toBe(false);
    node.now = 600;
    node.give({ kind: "opened", link: { kind: "lock" }, ref: "lock-2" as SessionRef, path: "direct" });
    expect(node.find("beat").orders[0]).toMatchObject({ renew: 1n, lock: "take" });
    node.answer({ ...renewed, holdsLock: true }, view("me", 5_000, 1));
    expect(node.gateOpen).toBe(true);
    expect(node.has("ended")).toBe(false);
  });

  it("asks again soon when another transaction had the row", () => {
    const node = leading().wait(1_000);
    node.answer({ renewal: { kind: "unknown" } }, view("me", 4_000, 1));
    expect(node.has("ended")).toBe(false);
    node.wait(50);
    expect(node.find("beat").orders[0]).toMatchObject({ renew: 1n });
  });

  it("ends its term by a refused renewal", () => {
    const node = leading().wait(1_000);
    node.answer({ renewal: { kind: "lost", reason: "superseded" } }, view("other", 5_000, 2));
    expect(node.find("ended")).toMatchObject({ reason: "superseded" });
  });

  it("goes on renewing while it drains, and releases when the work has settled (R9)", () => {
    const node = leading();
    node.give({ kind: "stepDown", role, to: null, reason: "stepped_down", yieldMs: 5_000 });
    expect(node.find("draining")).toMatchObject({ epoch: 1n });
    node.wait(1_000);
    expect(node.find("beat").orders[0]).toMatchObject({ renew: 1n });
    node.answer(renewed, view("me", 5_000, 1));
    node.give({ kind: "workSettled", role, epoch: epochOf(1) });
    expect(node.effects.map((effect) => effect.kind).slice(0, 2)).toEqual(["ended", "release"]);
    expect(node.gateOpen).toBe(false);
  });

  it("that has stepped down leaves the role to others, until one of them was seen to lead", () => {
    const node = steppedDown();
    node.wait(1_000).answer({}, view(null, 0, 1));
    expect(node.has("open") || node.has("acquire")).toBe(false);
    // The successor leads, and is gone again: nobody else may be left.
    node.wait(1_000).answer({}, view("other", 5_000, 2));
    node.wait(1_000);
    expect(node.find("beat").orders[0]).toMatchObject({ heir: "take" });
  });

  it("whose work has failed keeps off the role, but leads at once when it is named", () => {
    const failed = () => {
      const node = leading();
      node.give({ kind: "workFailed", role, epoch: epochOf(1) });
      return node.give({ kind: "workSettled", role, epoch: epochOf(1) });
    };
    expect(
      failed()
        .wait(1_000)
        .answer({}, view(null, 0, 2))
        .has("open"),
    ).toBe(false);
    const named = failed()
      .wait(1_000)
      .answer({}, { ...view(null, 0, 2), reservedFor: me.nodeId });
    expect(named.find("open")).toMatchObject({ link: { kind: "campaign" } });
    // What a beat shows meanwhile is newer than the invitation, and takes nothing back.
    named.give({ kind: "opened", link: { kind: "campaign", role }, ref: "campaign" as SessionRef, path: "direct" });
    const { id } = named.find("acquire");
    named.wait(1_000).answer({}, view("me", 5_000, 3));
    const reply = {
      kind: "acquired",
      epoch: epochOf(3),
      cause: "handover",
      gapMs: 0,
      view: view("me", 5_000, 3),
    } as const;
    named.give({ kind: "acquireReplied", role, id, reply });
    expect(named.find("elected")).toMatchObject({ epoch: 3n });
  });

  it("that has stepped down leads again by itself when nobody came for so long, from when it gave the role up", () => {
    const alone = steppedDown(1_000);
    for (let beat = 0; beat < 4; beat += 1) {
      alone.wait(1_000).answer({}, view(null, 0, 1));
      expect(alone.has("open")).toBe(false);
    }
    alone.wait(1_000);
    expect(alone.find("beat").orders[0]).toMatchObject({ heir: "take" });
  });

  it("does not release early when its drain overruns: the work may still run", () => {
    const node = leading();
    node.give({ kind: "stepDown", role, to: null, reason: "stepped_down", yieldMs: 5_000 });
    node.wait(1_000).answer(renewed, view("me", 5_000, 1));
    node.wait(1_000);
    expect(node.find("ended")).toMatchObject({ reason: "drain_overrun" });
    expect(node.has("release")).toBe(false);
    node.answer({}, view("me", 3_000, 1));
    expect(node.has("release")).toBe(false);
    node.give({ kind: "workSettled", role, epoch: epochOf(1) });
    node.wait(1_000).answer({}, view("me", 2_000, 1));
    expect(node.find("release")).toMatchObject({ epoch: 1n });
  });

  it("is not fit to lead again while the work of its last term runs (R10)", () => {
    const node = leading().wait(1_000);
    node.answer({ renewal: { kind: "lost", reason: "expired" } }, view(null, 0, 1));
    node.wait(1_000).answer({}, view(null, 0, 1));
    expect(node.find("wake")).toBeDefined();
    expect(node.has("open") || node.has("acquire")).toBe(false);
    node.give({ kind: "workSettled", role, epoch: epochOf(1) });
    node.wait(1_000);
    expect(node.find("beat").orders[0]).toMatchObject({ heir: "take" });
  });

  it("with `hold` only shuts its gate, and goes on when the renewal is accepted (R7)", () => {
    const node = new Driver({ terms: { ...terms, onStall: "hold" } }).join().win();
    node.answer({ ...renewed, holdsLock: true }, view("me", 5_000, 1));
    node.now = 60_000;
    expect(node.gateOpen).toBe(false);
    node.give({ kind: "tick" });
    expect(node.has("ended")).toBe(false);
    node.answer(renewed, view("me", 5_000, 1));
    expect(node.gateOpen).toBe(true);
  });

  it("with a grace needs an answer on its lock session within it, and asks more often than it beats (R6)", () => {
    const node = new Driver({}, 400).join().win();
    const first = node.find("pulse");
    expect(node.gateOpen).toBe(false);
    node.answer({ ...renewed, holdsLock: true }, view("me", 5_000, 1));
    expect(node.gateOpen).toBe(true);
    node.give({ kind: "pulseReplied", id: first.id });
    node.wait(100);
    const { id } = node.find("pulse");
    node.now = 399;
    expect(node.gateOpen).toBe(true);
    node.now = 400;
    expect(node.gateOpen).toBe(false);
    node.give({ kind: "pulseReplied", id });
    expect(node.gateOpen).toBe(true);
    node.now = 500;
    expect(node.gateOpen).toBe(false);
  });
});
