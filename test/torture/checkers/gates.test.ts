import { describe, expect, it } from "vitest";
import { gates } from "./gates.js";
import { type AnyTold, foundBy } from "./made-history.js";
import { sinks } from "./sinks.js";

const found = (...told: readonly AnyTold[]) => foundBy(gates, ...told);

describe("gates keep the promise that one acts", () => {
  it("where one is open after the other", () => {
    const told = found({ kind: "gate", at: 10 }, { kind: "gate", by: "b-1", epoch: "2", at: 20 });
    expect(told).toBe("");
  });

  it("where a look took so long that the gate may have been open before", () => {
    const told = found(
      { kind: "gate", by: "b-1", epoch: "2", at: 3_000 },
      { kind: "gate", from: 100, to: 4_000, at: 4_000 },
    );
    expect(told).toBe("");
  });

  it("where those who ask over HTTP know the place alone", () => {
    expect(found({ kind: "gate" }, { kind: "poll", node: "a" })).toBe("");
  });
});

describe("gates break the promise that one acts", () => {
  it("when one is open after that of a later epoch has been, by the process itself", () => {
    const told = found({ kind: "gate", by: "b-1", epoch: "2", at: 10 }, { kind: "gate", at: 15 });
    expect(told).toContain("the gate of a-1 under 1 was open at least 5.0 ms after that of b-1 under 2");
  });

  it("when it is so by an answer over HTTP, or by what a sink got", () => {
    const later: AnyTold = { kind: "gate", by: "b-1", epoch: "2", at: 10 };
    expect(found(later, { kind: "poll", from: 20, to: 30, at: 30 })).toContain("the gate of a-1");
    expect(found(later, { kind: "effect", gateAt: 20, at: 30 })).toContain("the gate of a-1");
    expect(found(later, { kind: "poll", from: 20, to: 30, at: 30, primary: false })).toBe("");
  });

  it("when two are open under one epoch", () => {
    expect(found({ kind: "gate" }, { kind: "gate", by: "b-1" })).toContain("under the same epoch 1");
  });
});

describe("sinks", () => {
  const effects = (...told: readonly AnyTold[]) => foundBy(sinks, ...told);

  it("may get late what left in time, where they do not check", () => {
    const late: AnyTold = { kind: "effect", gateAt: 5, at: 20 };
    expect(effects({ kind: "effect", node: "b-1", epoch: "2", at: 10 }, late)).toBe("");
    const refused: AnyTold = { ...late, sink: "checking", accepted: false };
    expect(effects({ kind: "effect", sink: "checking", epoch: "2", at: 10 }, refused)).toBe("");
  });

  it("get nothing whose gate was open after its successor's effect had come", () => {
    const told = effects({ kind: "effect", node: "b-1", epoch: "2", at: 10 }, { kind: "effect", gateAt: 15, at: 20 });
    expect(told).toContain("its gate was open 5.0 ms after that");
  });

  it("take nothing of an epoch that is over, where they check", () => {
    const sink = "checking" as const;
    const told = effects({ kind: "effect", sink, epoch: "2", at: 10 }, { kind: "effect", sink, gateAt: 5, at: 20 });
    expect(told).toContain("the checking sink took epoch 1 of a-1 after 2");
  });
});
