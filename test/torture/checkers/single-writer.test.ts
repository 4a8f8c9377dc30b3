import { describe, expect, it } from "vitest";
import { type AnyTold, fault, foundBy } from "./made-history.js";
import { singleWriter } from "./single-writer.js";

const found = (...told: readonly AnyTold[]) => foundBy(singleWriter, ...told);

describe("writes keep the promise of one writer", () => {
  it("where each one read what the last one wrote, over a change of epochs", () => {
    const told = found(
      { kind: "write" },
      { kind: "write", by: "b-1", epoch: "2", before: 1, after: 2 },
      { kind: "witness", n: 1 },
      { kind: "witness", n: 2, epoch: "2", before: 1, after: 2 },
    );
    expect(told).toBe("");
  });

  it("where an unanswered commit of the same leader was overtaken by its next", () => {
    const told = found(
      { kind: "write", outcome: "unknown" },
      { kind: "write", from: 5 },
      { kind: "witness", n: 1 },
      { kind: "witness", n: 2, before: 1, after: 1 },
    );
    expect(told).toBe("");
  });

  it("where a write was told as unknown, and then as refused", () => {
    const told = found(
      { kind: "write", from: 1, outcome: "unknown" },
      { kind: "write", from: 1, outcome: "refused" },
      { kind: "witness", before: 5, after: 6 },
    );
    expect(told).toBe("");
  });

  it("where what a failover may lose is gone", () => {
    const told = found({ kind: "write", at: 500 }, ...fault("database_failover", 400, 900, { lostFrom: 450 }), {
      kind: "witness",
      epoch: "9",
      at: 1_000,
    });
    expect(told).toBe("");
  });
});

describe("writes break the promise of one writer", () => {
  it("when an epoch commits after a higher one has", () => {
    const told = found(
      { kind: "witness", n: 1, epoch: "2" },
      { kind: "witness", n: 2, epoch: "1", before: 1, after: 2 },
    );
    expect(told).toContain("committed after epoch 2 had");
  });

  it("when a leader did not see what the one before it wrote", () => {
    const told = found({ kind: "witness", n: 1 }, { kind: "witness", n: 2, epoch: "2", before: 1, after: 1 });
    expect(told).toContain("added one to something else than the 1 it found");
  });

  it("when a leader overwrote its own acknowledged write", () => {
    const told = found({ kind: "write" }, { kind: "witness", n: 1 }, { kind: "witness", n: 2, before: 1, after: 1 });
    expect(told).toContain("added one to something else than the 1 it found");
  });

  it("when something came between two writes that the witness did not see", () => {
    const told = found({ kind: "witness", n: 1 }, { kind: "witness", n: 2, before: 7, after: 8 });
    expect(told).toContain("found 7, and 1 was written");
  });

  it("when an acknowledged write is not there, or a refused one is", () => {
    const gone = found({ kind: "write", before: 1, after: 2 }, { kind: "witness" });
    expect(gone).toContain("was acknowledged, and the witness has not seen it");
    const there = found({ kind: "write", outcome: "refused", code: "STALE_EPOCH" }, { kind: "witness" });
    expect(there).toContain("was refused, and the witness has seen it");
  });

  it("when two were acknowledged that had read the same", () => {
    expect(found({ kind: "write" }, { kind: "write", by: "b-1", epoch: "2" })).toContain("both read 0");
  });

  it("when a write that was acknowledged began after a later epoch was given", () => {
    const told = found({ kind: "elected", by: "b-1", epoch: "2", at: 10 }, { kind: "write", from: 20, at: 25 });
    expect(told).toContain("began 10 ms after b-1 was elected under 2");
  });

  it("when a failover is no excuse: a lower epoch after a higher one in what survived", () => {
    const told = found(
      ...fault("database_failover", 400, 900, { lostFrom: 450 }),
      { kind: "witness", n: 1, epoch: "9" },
      { kind: "witness", n: 2, epoch: "3", before: 1, after: 2 },
    );
    expect(told).toContain("committed after epoch 9 had");
  });
});
