import { describe, expect, it } from "vitest";
import { type AnyTold, fault, foundBy } from "./made-history.js";
import { mllp } from "./mllp.js";

const found = (...told: readonly AnyTold[]) => foundBy(mllp, ...told);
type Sent = Partial<Extract<AnyTold, { kind: "mllp_sent" }>>;
type Arrived = Partial<Extract<AnyTold, { kind: "mllp_received" }>>;
const sent = (number: number, more: Sent = {}): AnyTold => ({
  kind: "mllp_sent",
  number,
  controlId: `m${number}`,
  ...more,
});
const came = (number: number, more: Arrived = {}): AnyTold => ({
  kind: "mllp_received",
  number,
  controlId: `m${number}`,
  ...more,
});

describe("messages keep their promise", () => {
  it("where each came once, in order, wherever its sender's messages go", () => {
    expect(found(sent(1), sent(2), came(1), came(2), came(1, { outbound: "p" }), came(2, { outbound: "p" }))).toBe("");
  });

  it("where the one that was on its way came again", () => {
    expect(found(sent(1), sent(2), came(1), came(1), came(2))).toBe("");
  });

  it("where one in doubt came, or did not", () => {
    expect(found(sent(1, { outcome: "unknown" }), sent(2), sent(3, { outcome: "unknown" }), came(2), came(3))).toBe("");
  });

  it("where a stalled leader wrote the one that it was about to, when its successor had gone on", () => {
    const stall = fault("freeze", 10, 3_000);
    expect(found(sent(1), sent(2), ...stall, came(1, { at: 20 }), came(2), came(1, { at: 3_001 }))).toBe("");
  });

  it("where what was written before a node was cut off got through when it no longer was", () => {
    const cut = fault("partition", 10, 3_000, { on: "a-1,b-1" });
    expect(found(sent(1), sent(2), ...cut, came(1, { at: 20 }), came(2), came(1, { at: 5_000 }))).toBe("");
  });

  it("where a failover lost the tail", () => {
    const failover = fault("database_failover", 100, 200, { lostFrom: 50 });
    const told = found(
      ...failover,
      sent(1, { at: 60 }),
      sent(2, { at: 61 }),
      came(1, { at: 62 }),
      came(2),
      came(1, { at: 300 }),
    );
    expect(told).toBe("");
  });
});

describe("messages break their promise", () => {
  it("when an acknowledged one did not come, or not everywhere", () => {
    expect(found(sent(1), sent(2), came(1))).toContain("m2 was acknowledged, and did not come to o");
    expect(found(sent(1), sent(2), came(1), came(2), came(1, { outbound: "p" }))).toContain("did not come to p");
    expect(found(sent(1))).toContain("did not come to any outbound");
  });

  it("when one came that nobody sent, or that was refused, or as something else", () => {
    expect(found(came(1))).toContain("m1 came to o");
    expect(found(sent(1, { outcome: "refused" }), came(1))).toContain("m1 came to o");
    expect(found(sent(1), came(1, { intact: false }))).toContain("something else");
  });

  it("when two changed places", () => {
    expect(found(sent(1), sent(2), came(2), came(1))).toContain("m1 came after m2");
  });

  it("when one came again after the next of its lane", () => {
    expect(found(sent(1), sent(2), came(1), came(2), came(1))).toContain("m1 came to o again after m2");
    const stall = fault("freeze", 10, 3_000);
    const late = [came(1, { at: 20 }), came(2), came(1, { at: 3_001 })];
    expect(found(sent(1), sent(2), ...stall, ...late, came(1))).toContain("m1 came to o again after m2");
    const afterwards = [came(1, { at: 20 }), came(2), came(1, { at: 60_000 })];
    expect(found(sent(1), sent(2), ...stall, ...afterwards)).toContain("m1 came to o again after m2");
  });
});
