import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { losses } from "./losses.js";
import { type AnyTold, fault, foundBy, made } from "./made-history.js";
import { order } from "./order.js";
import { repetitions } from "./repetitions.js";

const run: AnyTold = { kind: "run", at: 0 };
const sent = (...numbers: readonly number[]): readonly AnyTold[] =>
  numbers.map((number) => ({ kind: "enqueue", numbers: [number] }));
const came = (number: number, more: Partial<Extract<AnyTold, { kind: "delivery" }>> = {}): AnyTold => ({
  kind: "delivery",
  number,
  position: number,
  ...more,
});
/** Whatever is in it came to the second stage, too. */
const failover = fault("database_failover", 1_000, 2_000, { lostFrom: 900 });

describe("what was acknowledged", () => {
  const found = (...told: readonly AnyTold[]) => foundBy(losses, ...told);

  it("is delivered in each stage; what is in doubt may be, and what a failover may lose need not be", () => {
    expect(found(...sent(1), came(1), came(1, { stage: "outbound" }))).toBe("");
    expect(found(...sent(1), came(1), { kind: "enqueue", numbers: [2], outcome: "unknown" }, came(2))).toBe("");
    expect(found(...failover, { kind: "enqueue", at: 950 }, came(7, { at: 990, lane: "m" }))).not.toContain("l 1");
  });

  it("is lost when it came nowhere, or got stuck between two stages", () => {
    expect(found(...sent(1, 2), came(1))).toContain("l 2 was acknowledged");
    expect(found(...sent(1))).toContain("not delivered in any stage");
    const stuck = found(...sent(1, 2), came(1), came(1, { stage: "outbound" }), came(2));
    expect(stuck).toContain("not delivered in outbound");
    expect(found({ kind: "enqueue", at: 800 }, ...failover)).toContain("l 1 was acknowledged");
  });

  it("is all that is delivered: nothing that nobody sent, nothing that was refused", () => {
    expect(found(came(1))).toContain("nobody had sent it");
    expect(found({ kind: "enqueue", outcome: "refused", code: "NOT_LEADER" }, came(1))).toContain("had been refused");
  });
});

describe("the order of a lane", () => {
  const found = (...told: readonly AnyTold[]) => foundBy(order, ...told);

  it("is that of the commits, as far as anybody can know it", () => {
    expect(found(...sent(1, 2), came(1), came(2))).toBe("");
    const unsure: AnyTold = { kind: "enqueue", numbers: [1], outcome: "unknown" };
    expect(found(unsure, ...sent(2), came(2, { position: 1 }), came(1, { position: 2 }))).toBe("");
  });

  it("is broken when what was sent later comes first", () => {
    expect(found(...sent(1, 2), came(2, { position: 1 }), came(1, { position: 2 }))).toContain("l 1 came after l 2");
  });

  it("is broken when a place is left out, or a leader leaves out what its forerunner had delivered", () => {
    expect(found(came(1), came(3))).toContain("at position 3 came right after 1");
    const later = { epoch: "2", by: "b-1" };
    expect(found(came(1), came(2), came(3), came(1, later), came(3, later))).toContain("position 3 came right after 1");
  });

  it("begins anew with a database that has lost its tail", () => {
    expect(found(came(1, { at: 10 }), ...failover, came(9, { at: 2_100, position: 5 }))).toBe("");
  });
});

describe("what comes again", () => {
  const found = (...told: readonly AnyTold[]) => foundBy(repetitions, run, ...told);
  const later = { epoch: "2", by: "b-1" };

  it("is a batch of a lane at most, from the first that was not settled; or has failed", () => {
    expect(found(came(1), came(2), came(3), came(2, later), came(3, later))).toBe("");
    expect(found(came(1, { failed: true }), came(1, { attempt: 2 }), came(2))).toBe("");
    expect(found(came(1), { kind: "lost_track" }, came(1))).toBe("");
  });

  it("is too much when it is more than a batch, or was settled", () => {
    expect(found(came(1), came(2), came(3), came(1, later))).toContain("when position 3 had been reached");
    const many = found(came(1), came(2), came(1, later), came(2, later), came(3, later), came(2, later));
    expect(many).toContain("by the same leader");
  });

  it("has no other place than before, and has spent no attempt", () => {
    expect(found(came(1), came(1, { ...later, position: 2 }))).toContain("is in two places");
    expect(found(came(1), came(1, { ...later, attempt: 2 }))).toContain("spent an attempt without a failure");
  });

  it("does not come again by a leader that knows it to be settled", () => {
    const again = "came again by the same leader, and had not failed";
    expect(found(came(1), came(1))).toContain(again);
    expect(found(came(1), { kind: "lost_track" }, came(1), came(2), came(2))).toContain(`l 2 (position 2, epoch 1`);
    expect(found(came(1), { kind: "lost_track" }, came(1), came(1))).toContain(again);
    expect(found({ kind: "lost_track" }, came(1), came(1))).toContain(again);
    expect(found(came(1, { epoch: "2" }), { kind: "lost_track" }, came(1, { epoch: "2" }))).toContain(again);
    const twice = [came(1, { at: 5_000 }), came(1, { at: 5_500 })];
    const shut = (on: string, at: number) => fault("terminate_lock_session", at, at + 100, { on });
    for (const on of ["a-1", "db"]) expect(found(...shut(on, 4_900), ...twice)).toBe("");
    for (const elsewhere of [shut("b-1", 4_900), shut("clients", 4_900), shut("a-1", 1_000), shut("a-1", 6_000)])
      expect(found(...elsewhere, ...twice)).toContain(again);
  });

  it("has failed under this leader, though it had not under the last", () => {
    expect(found(came(1), came(1, { ...later, failed: true }), came(1, { ...later, attempt: 2 }))).toBe("");
  });

  it("is begun late once for each stall, and never without one", () => {
    const late = [came(1, { at: 10 }), came(1, { ...later, at: 3_000 }), came(1, { at: 3_100 })];
    const stall = fault("freeze", 20, 3_050);
    expect(found(...late)).toContain("began after epoch 2 had delivered");
    expect(found(...stall, ...late)).toBe("");
    expect(found(...stall, ...late, came(2, { at: 3_200 }))).toContain("began after epoch 2 had delivered");
    const awake: AnyTold = { kind: "gate", role: "other", at: 3_060 };
    expect(found(...stall, ...late, awake)).toContain("began after epoch 2 had delivered");
    const longAgo = fault("freeze", 20, 30);
    const muchLater = [came(1, { at: 10 }), came(1, { ...later, at: 60_000 }), came(1, { at: 60_100 })];
    expect(found(...longAgo, ...muchLater)).toContain("began after epoch 2 had delivered");
  });

  it("may be what a failover has lost", () => {
    const all = [1, 2, 3, 4, 5].map((number) => came(number, { at: 900 + number }));
    expect(found(...failover, ...all, came(1, { ...later, at: 2_100 }))).toBe("");
    const failed = came(1, { at: 1_900, failed: true });
    expect(found(...failover, failed, came(1, { at: 2_100, attempt: 2 }))).toBe("");
    expect(found(...failover, failed, came(1, { at: 2_100, attempt: 3 }))).toContain("spent an attempt");
  });

  it("is not what a database had long before it was lost", () => {
    const lostLater = fault("database_failover", 10_000, 11_000, { lostFrom: 9_900 });
    const settled = [1, 2, 3, 4, 5].map((number) => came(number, { at: 900 + number }));
    const next = (number: number, more = {}) => came(number, { ...later, at: 12_000 + number, ...more });
    expect(found(...lostLater, ...settled, next(4), next(5), next(6))).toBe("");
    expect(found(...lostLater, ...settled, next(1))).toContain("when position 5 had been reached");
    expect(found(...lostLater, ...settled, next(5, { position: 6 }))).toContain("is in two places");
    expect(found(...lostLater, ...settled, next(5, { attempt: 2 }))).toContain("spent an attempt without a failure");
    const justBefore = [6, 7, 8, 9].map((number) => came(number, { at: 9_000 + number }));
    expect(found(...lostLater, ...settled, ...justBefore, next(6), next(7))).toBe("");
  });
});

/** Leaders that claim a batch, deliver some of it, settle some of that, and are succeeded. */
const goodHistories = fc
  .tuple(
    fc.integer({ min: 1, max: 4 }),
    fc.array(fc.record({ delivered: fc.nat(4), settled: fc.nat(4), crashes: fc.boolean() }), { maxLength: 30 }),
  )
  .map(([batch, turns]) => {
    let [done, epoch, highest] = [0, 1, 0];
    const deliveries: AnyTold[] = [];
    const deliver = (count: number) => {
      for (let number = done + 1; number <= done + count; number += 1)
        deliveries.push(came(number, { epoch: `${epoch}` }));
      highest = Math.max(highest, done + count);
    };
    for (const { delivered, settled, crashes } of turns) {
      const count = Math.min(delivered, batch);
      deliver(count);
      done += crashes ? Math.min(settled, count) : count;
      if (crashes) epoch += 1;
    }
    deliver(Math.min(batch, highest - done));
    const numbers = Array.from({ length: highest }, (_, index) => index + 1);
    return { batch, told: [{ ...run, batch }, ...sent(...numbers), ...deliveries] };
  });

describe("histories of leaders that crash with a batch in hand", () => {
  it("are good in the eyes of every checker", () => {
    fc.assert(
      fc.property(goodHistories, ({ told }) => {
        for (const checker of [losses, order, repetitions]) expect(foundBy(checker, ...told)).toBe("");
      }),
    );
  });

  it("are not, when a message is taken out of them everywhere", () => {
    fc.assert(
      fc.property(goodHistories, fc.nat(), ({ told }, pick) => {
        const numbers = told.flatMap((event) => (event.kind === "delivery" ? [event.number ?? 0] : []));
        fc.pre(numbers.length > 0);
        const gone = numbers[pick % numbers.length];
        const rest = made(...told).filter((event) => event.kind !== "delivery" || event.number !== gone);
        expect(losses.check(rest)).not.toEqual([]);
        if (gone !== 1 && gone !== Math.max(...numbers)) expect(order.check(rest)).not.toEqual([]);
      }),
    );
  });
});
