import { describe, expect, it } from "vitest";
import { jobs } from "./jobs.js";
import { type AnyTold, fault, foundBy } from "./made-history.js";

const found = (...told: readonly AnyTold[]) => foundBy(jobs, ...told);
type Task = Partial<Extract<AnyTold, { kind: "task" }>>;
const reported = (more: Task = {}): AnyTold => ({ kind: "task", what: "reported", result: "r", ...more });
const row: AnyTold = { kind: "job" };

describe("jobs keep their promise", () => {
  it("where one was submitted, handed out, reported, and is done", () => {
    expect(found({ kind: "submit" }, { kind: "task" }, reported(), row)).toBe("");
  });

  it("where a submission and a result were told again, and counted once", () => {
    const again: AnyTold[] = [{ kind: "submit", outcome: "unknown" }, { kind: "submit" }];
    expect(found(...again, reported({ outcome: "unknown" }), reported({ replay: true }), row)).toBe("");
  });

  it("where a lease was replaced, and its late result refused", () => {
    const late = reported({ outcome: "refused", result: "old", code: "STALE_JOB_EPOCH" });
    const told = found({ kind: "submit" }, reported({ attempt: 2, agent: "y" }), late, { ...row, attempt: 2 });
    expect(told).toBe("");
  });

  it("where it failed at first", () => {
    const failed = reported({ result: "failed" });
    expect(found({ kind: "submit" }, failed, reported({ attempt: 2 }), { ...row, attempt: 2 })).toBe("");
  });

  it("where what a failover may lose is gone, or is done again", () => {
    const failover = fault("database_failover", 100, 200, { lostFrom: 50 });
    expect(found(...failover, { kind: "submit", at: 60 }, reported({ at: 70 }), { ...row, key: "other" })).toBe("");
  });

  it("where who stood still during a failover tells only afterwards of a lease that it lost", () => {
    const failover = fault("database_failover", 100, 200, { lostFrom: 50 });
    const leased: readonly AnyTold[] = [
      { kind: "submit" },
      { kind: "task", at: 600 },
      { kind: "task", agent: "y", at: 700 },
      row,
    ];
    expect(found(...failover, ...fault("freeze", 90, 500, { number: 2, on: "a" }), ...leased)).toBe("");
    expect(found(...failover, ...fault("freeze", 90, 150, { number: 2, on: "a" }), ...leased)).toContain(
      "was handed to x and y",
    );
  });

  it("where a cron had a job each second", () => {
    expect(found(row, { kind: "tick" }, { kind: "tick", second: 2, job: "i" }, { ...row, job: "i", key: "" })).toBe("");
  });
});

describe("jobs break their promise", () => {
  it("when a submitted one is not there, or not done, or there twice", () => {
    expect(found({ kind: "submit" })).toContain("was acknowledged, and is not there");
    expect(found({ kind: "submit" }, { ...row, state: "leased" })).toContain("is leased in the end");
    expect(found({ kind: "submit" }, row, { ...row, job: "i" })).toContain("is there 2 times");
  });

  it("when one key was answered under two ids, or under another than it has", () => {
    expect(found({ kind: "submit" }, { kind: "submit", id: "i" }, row)).toContain("was answered under j and i");
    expect(found({ kind: "submit", id: "i" }, row)).toContain("was answered as i, and is j");
  });

  it("when a refused one is there", () => {
    expect(found({ kind: "submit", outcome: "refused" }, row)).toContain("is there, and was refused");
  });

  it("when a lease was handed to two", () => {
    const told = found({ kind: "submit" }, { kind: "task" }, { kind: "task", agent: "y" }, row);
    expect(told).toContain("was handed to x and y");
  });

  it("when two results were accepted", () => {
    const told = found({ kind: "submit" }, reported(), reported({ attempt: 2, agent: "y" }), { ...row, attempt: 2 });
    expect(told).toContain("was accepted, and that of 2 counts");
    expect(told).toContain("was accepted, and so was that of 1");
  });

  it("when another result is kept than was accepted, or a refused one counts", () => {
    expect(found({ kind: "submit" }, reported(), { ...row, result: "s" })).toContain("is not what is kept");
    expect(found({ kind: "submit" }, reported({ outcome: "refused" }), row)).toContain("was refused, and counts");
  });

  it("when a tick was left out, or has no job", () => {
    expect(found(row, { kind: "tick" }, { kind: "tick", second: 3 })).toContain("3 came right after 1");
    expect(found(row, { kind: "tick", job: "i" })).toContain("1 has no job");
  });
});
