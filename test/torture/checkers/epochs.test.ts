import { describe, expect, it } from "vitest";
import { epochs } from "./epochs.js";
import { type AnyTold, fault, foundBy } from "./made-history.js";

const found = (...told: readonly AnyTold[]) => foundBy(epochs, ...told);

describe("epochs keep their promise", () => {
  it("where each is higher than the one before, of each role for itself", () => {
    const told = found(
      { kind: "elected" },
      { kind: "elected", by: "b-1", epoch: "2" },
      { kind: "elected", by: "b-1", role: "other", epoch: "1" },
      { kind: "gate", by: "b-1", epoch: "2" },
    );
    expect(told).toBe("");
  });

  it("where a process that was frozen tells of its election late", () => {
    const told = found({ kind: "elected", by: "b-1", epoch: "2", at: 5_000 }, ...fault("freeze", 1_000, 5_500), {
      kind: "elected",
      at: 5_501,
    });
    expect(told).toBe("");
  });
});

describe("epochs break their promise", () => {
  it("when one is given twice, also to the same process", () => {
    expect(found({ kind: "elected" }, { kind: "elected", by: "b-1" })).toContain("given to a-1 and again to b-1");
    expect(found({ kind: "elected" }, { kind: "elected" })).toContain("given to a-1 and again to a-1");
  });

  it("when a later one is lower", () => {
    const told = found({ kind: "elected", epoch: "10" }, { kind: "elected", by: "b-1", epoch: "9" });
    expect(told).toContain("b-1 got epoch 9 after a-1 got 10");
  });

  it("when a failover of the database gives one again", () => {
    const failover = fault("database_failover", 10, 20, { lostFrom: 1 });
    const told = found({ kind: "elected", at: 2 }, ...failover, { kind: "elected", by: "b-1", at: 30 });
    expect(told).toContain("epoch 1 was given to a-1 and again to b-1");
  });

  it("when another process acts under it", () => {
    expect(found({ kind: "elected" }, { kind: "gate", by: "b-1" })).toContain("is a-1's, and b-1 acts under it");
  });
});
