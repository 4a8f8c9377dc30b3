import { describe, expect, it } from "vitest";
import { type JobEvent, type JobRow, type JobsHistory, type ReportedTask, violationsOf } from "./jobs-history.js";

type Told = Partial<Omit<JobEvent, "kind">> & { readonly kind: string };

const queued: Told = { kind: "queued", jobEpoch: 0, agent: null };
const leased: Told = { kind: "leased" };
const succeeded: Told = { kind: "succeeded" };
/** Its lease ran out, or it failed: it is queued again, and its epoch stays. */
const back: Told = { kind: "queued" };

/** Events of the job "j", by agent "a" under job_epoch 1 unless they say otherwise; ids count up from 1. */
function events(...told: readonly Told[]): readonly JobEvent[] {
  return told.map(({ kind, ...rest }, index) => ({
    id: index + 1,
    generation: "g",
    kind: `job.${kind}`,
    jobId: "j",
    jobEpoch: 1,
    agent: "a",
    leaderEpoch: 1,
    ...rest,
  }));
}

function report(rest: Partial<ReportedTask> = {}): ReportedTask {
  return { agent: "a", jobId: "j", jobEpoch: 1, status: "succeeded", answer: "accepted", ...rest };
}

function streamOf(told: readonly JobEvent[]) {
  return { listener: "listener", from: 0, to: told.at(-1)?.id ?? 0, events: told };
}

const done: JobRow = { jobId: "j", state: "succeeded", jobEpoch: 1, agent: "a" };

/** A history in which all is well, with these parts in place of its own. */
function history(told: readonly JobEvent[], rest: Partial<JobsHistory> = {}): JobsHistory {
  return {
    acknowledged: ["j"],
    streams: [streamOf(told)],
    handings: [{ agent: "a", jobId: "j", jobEpoch: 1 }],
    reports: [report()],
    rows: [done],
    crons: [],
    ...rest,
  };
}

const plain = events(queued, leased, succeeded);
/** Handed to "a", lost by it, done by "b". */
const replaced = events(
  queued,
  leased,
  back,
  { kind: "leased", jobEpoch: 2, agent: "b" },
  { ...succeeded, jobEpoch: 2, agent: "b" },
);
const replacedRest = {
  handings: [
    { agent: "a", jobId: "j", jobEpoch: 1 },
    { agent: "b", jobId: "j", jobEpoch: 2 },
  ],
  reports: [report({ agent: "b", jobEpoch: 2 }), report({ answer: "stale" })],
  rows: [{ ...done, jobEpoch: 2, agent: "b" }],
} satisfies Partial<JobsHistory>;

const kindsOf = (judged: JobsHistory) => [...new Set(violationsOf(judged).map(({ kind }) => kind))];

describe("a history of jobs keeps the promises", () => {
  it("where each job was handed out, done and accepted", () => {
    expect(kindsOf(history(plain))).toEqual([]);
  });

  it("where a result was told again, and counted once", () => {
    const again = [report({ answer: "repeated" })];
    expect(kindsOf(history(plain, { reports: [report(), ...again] }))).toEqual([]);
    // The answer to the first was lost with the leader.
    expect(kindsOf(history(plain, { reports: again }))).toEqual([]);
  });

  it("where a lease was lost, and its late result refused", () => {
    expect(kindsOf(history(replaced, replacedRest))).toEqual([]);
  });

  it("where a lease was made, and the answer was lost with the leader", () => {
    const { reports, ...rest } = replacedRest;
    const heard = { ...rest, handings: rest.handings.slice(1), reports: reports.slice(0, 1) };
    expect(kindsOf(history(replaced, heard))).toEqual([]);
  });

  it("where a job is there whose submission was never answered, and nobody has had it yet", () => {
    const rows: readonly JobRow[] = [{ jobId: "j", state: "queued", jobEpoch: 0, agent: null }];
    const heard = { acknowledged: [], handings: [], reports: [], rows };
    expect(kindsOf(history(events(queued), heard))).toEqual([]);
  });

  it("where something else than jobs is told, too", () => {
    const told = [...plain, { ...plain[0]!, id: 4, kind: "agent.registered", jobId: null }];
    expect(kindsOf(history(told))).toEqual([]);
  });
});

describe("a history of jobs is refused", () => {
  it("when an acknowledged job is not there, or not done", () => {
    expect(kindsOf(history(plain, { acknowledged: ["j", "k"] }))).toEqual(["lost"]);
    const rows = [{ ...done, state: "leased" }];
    expect(kindsOf(history(events(queued, leased), { reports: [], rows }))).toEqual(["lost"]);
    const dead = events(queued, leased, { kind: "dead" });
    expect(kindsOf(history(dead, { reports: [], rows: [{ ...done, state: "dead" }] }))).toEqual(["lost"]);
  });

  it("when two results of a job counted, by the events", () => {
    expect(kindsOf(history(events(queued, leased, succeeded, succeeded)))).toEqual(["done_twice"]);
  });

  it("when two results of a job were accepted, by what agents heard", () => {
    expect(kindsOf(history(plain, { reports: [report(), report()] }))).toEqual(["done_twice"]);
    const reports = [report({ agent: "b", jobEpoch: 2 }), report()];
    expect(kindsOf(history(replaced, { ...replacedRest, reports }))).toEqual(["stale_accepted", "done_twice"]);
  });

  it("when a result counted whose lease had been replaced", () => {
    const told = events(queued, leased, back, { kind: "leased", jobEpoch: 2, agent: "b" }, succeeded);
    expect(kindsOf(history(told, { ...replacedRest, reports: [report()], rows: [done] }))).toEqual(["stale_accepted"]);
  });

  it("when a result counted whose lease had run out", () => {
    expect(kindsOf(history(events(queued, leased, back, succeeded)))).toEqual(["stale_accepted"]);
  });

  it("when a job that was done goes on", () => {
    const rows = [{ ...done, state: "queued" }];
    const told = events(queued, leased, succeeded, back);
    expect(kindsOf(history(told, { acknowledged: [], rows }))).toEqual(["stale_accepted"]);
  });

  it("when an agent heard that its stale result was accepted, and nothing tells of it", () => {
    const reports = [report({ agent: "b", jobEpoch: 2 }), report({ answer: "repeated" })];
    expect(kindsOf(history(replaced, { ...replacedRest, reports }))).toEqual(["wrong_answer"]);
  });

  it("when a result that counts was refused as stale, or for another reason", () => {
    const reports = [report(), report({ answer: "stale" })];
    expect(kindsOf(history(plain, { reports }))).toEqual(["wrong_answer"]);
    expect(kindsOf(history(plain, { reports: [report(), report({ answer: "refused" })] }))).toEqual(["wrong_answer"]);
  });

  it("when one job_epoch was handed to two agents", () => {
    const handings = ["a", "b"].map((agent) => ({ agent, jobId: "j", jobEpoch: 1 }));
    expect(kindsOf(history(plain, { handings }))).toContain("handed_out_twice");
    expect(kindsOf(history(events(queued, leased, back, leased, succeeded)))).toEqual(["handed_out_twice"]);
  });

  it("when a job was handed out while it was leased", () => {
    const byOther = { jobEpoch: 2, agent: "b" };
    const told = events(queued, leased, { ...leased, ...byOther }, { ...succeeded, ...byOther });
    expect(kindsOf(history(told, replacedRest))).toEqual(["handed_out_twice"]);
  });

  it("when an agent was handed what no event tells of", () => {
    const handings = [...history(plain).handings, { agent: "b", jobId: "j", jobEpoch: 2 }];
    expect(kindsOf(history(plain, { handings }))).toEqual(["untold"]);
  });

  it("when the table and the events differ in the end", () => {
    const rows = [done, { jobId: "k", state: "queued", jobEpoch: 0, agent: null }];
    expect(kindsOf(history(plain, { rows }))).toEqual(["disagreement"]);
    expect(kindsOf(history(plain, { rows: [], acknowledged: [] }))).toEqual(["disagreement"]);
    expect(kindsOf(history(events(queued, leased)))).toContain("disagreement");
  });

  it("when a job is done that nobody reported", () => {
    expect(kindsOf(history(plain, { reports: [] }))).toEqual(["disagreement"]);
  });
});

describe("a stream of events is refused", () => {
  const [first, second, third] = plain as [JobEvent, JobEvent, JobEvent];
  /** The first listener heard all; this is what another did. */
  const heardBy = (...told: readonly JobEvent[]) => {
    const good = streamOf(plain);
    return kindsOf(history(plain, { streams: [good, { ...good, events: told }] }));
  };

  it("when it leaves one out, at its beginning, in between or at its end", () => {
    expect(heardBy(first, second, third)).toEqual([]);
    expect(heardBy(second, third)).toEqual(["gap"]);
    expect(heardBy(first, third)).toEqual(["gap"]);
    expect(heardBy(first, second)).toEqual(["gap"]);
    expect(heardBy()).toEqual(["gap"]);
  });

  it("when it tells one again, at once or later", () => {
    expect(heardBy(first, first, second, third)).toEqual(["repetition"]);
    expect(heardBy(first, second, third, first)).toEqual(["repetition"]);
  });

  it("when two change places", () => {
    expect(heardBy(first, third, second)).toEqual(["gap", "repetition"]);
  });

  it("when its listener has to begin anew, or hears another database", () => {
    expect(heardBy(first, second, { ...third, kind: "reset" })).toEqual(["reset"]);
    expect(heardBy(first, second, { ...third, generation: "h" })).toEqual(["reset"]);
  });

  it("when a leader still tells something after the next has begun", () => {
    expect(heardBy(first, { ...second, leaderEpoch: 2 }, third)).toEqual(["stale_leader"]);
  });
});
