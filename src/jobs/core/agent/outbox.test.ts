import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Outbox, type Report, type ReportAnswer } from "./outbox.js";

const limits = { reports: 10, reportsInBatch: 4, bytesInBatch: 10_000 };
const accepted: ReportAnswer = { kind: "accepted" };
const later: ReportAnswer = { kind: "later" };
const stale: ReportAnswer = { kind: "stale" };

const reportOf = (jobId: string): Report => ({
  leaseId: "lease",
  jobId,
  jobEpoch: 1,
  outcome: { status: "succeeded", result: jobId },
});

function filled(...jobIds: readonly string[]): Outbox {
  const outbox = new Outbox(limits);
  for (const jobId of jobIds) outbox.add(reportOf(jobId), 10);
  return outbox;
}

const idsOf = (reports: readonly Report[]): readonly string[] => reports.map(({ jobId }) => jobId);

describe("the outbox", () => {
  it("sends in the order in which results came, so many at a time, one batch after the other", () => {
    const outbox = filled("a", "b", "c", "d", "e");
    expect(idsOf(outbox.next())).toEqual(["a", "b", "c", "d"]);
    expect(outbox.next()).toEqual([]);
    outbox.answered([accepted, accepted, accepted, accepted]);
    expect(idsOf(outbox.next())).toEqual(["e"]);
  });

  it("sends no more bytes at a time than it may, and one at least", () => {
    const outbox = new Outbox(limits);
    outbox.add(reportOf("large"), 50_000);
    outbox.add(reportOf("small"), 10);
    expect(idsOf(outbox.next())).toEqual(["large"]);
  });

  it("sends all of them again, and first, where nobody answered", () => {
    const outbox = filled("a", "b");
    const sent = outbox.next();
    outbox.add(reportOf("c"), 10);
    outbox.unanswered();
    expect(outbox.next()).toEqual([...sent, reportOf("c")]);
  });

  it("keeps what could not be taken now, and lets go of what is accepted or came too late", () => {
    const outbox = filled("a", "b", "c");
    outbox.next();
    const settled = outbox.answered([accepted, later, stale]);
    expect(settled.map(({ report, answer }) => [report.jobId, answer.kind])).toEqual([
      ["a", "accepted"],
      ["c", "stale"],
    ]);
    expect(idsOf(outbox.next())).toEqual(["b"]);
  });

  it("is full with what waits and what is on its way", () => {
    const outbox = filled("a", "b", "c", "d", "e", "f", "g", "h", "i");
    expect(outbox.isFull).toBe(false);
    outbox.add(reportOf("j"), 10);
    outbox.next();
    expect(outbox).toMatchObject({ isFull: true, size: 10 });
  });

  it("asks about each alone after a batch was refused, and reports the culprit as failed for good", () => {
    const outbox = filled("a", "b", "c");
    outbox.next();
    expect(outbox.refused("BODY_TOO_LARGE", "Too much.")).toEqual([]);
    expect(idsOf(outbox.next())).toEqual(["a"]);
    outbox.answered([accepted]);
    expect(idsOf(outbox.next())).toEqual(["b"]);
    expect(outbox.refused("BODY_TOO_LARGE", "Too much.")).toEqual([]);
    const [failure] = outbox.next();
    expect(failure).toEqual({
      ...reportOf("b"),
      outcome: { status: "failed", error: "the result was refused: Too much.", retry: false },
    });
    expect(outbox.refused("INVALID_REQUEST", "Still not.").map(({ answer }) => answer.kind)).toEqual(["refused"]);
    expect(idsOf(outbox.next())).toEqual(["c"]);
  });

  it("takes a refusal of one alone by its epoch for what it is", () => {
    const outbox = filled("a");
    outbox.next();
    expect(outbox.refused("STALE_EPOCH", "")).toMatchObject([{ answer: { kind: "stale" } }]);
    expect(outbox.size).toBe(0);
  });

  it("loses nothing and settles nothing twice, whatever is answered", () => {
    const answer = fc.constantFrom<ReportAnswer>(accepted, later, stale, {
      kind: "refused",
      code: "INVALID_REQUEST",
      message: "No.",
    });
    const event = fc.oneof(
      fc.record({ kind: fc.constant("add" as const) }),
      fc.record({ kind: fc.constant("send" as const), answers: fc.array(answer, { minLength: 4, maxLength: 4 }) }),
      fc.record({ kind: fc.constant("unanswered" as const) }),
      fc.record({ kind: fc.constant("refused" as const) }),
    );
    fc.assert(
      fc.property(fc.array(event, { maxLength: 60 }), (events) => {
        const outbox = new Outbox(limits);
        const settled: string[] = [];
        let added = 0;
        const settle = (reports: ReturnType<Outbox["answered"]>): void => {
          settled.push(...reports.map(({ report }) => report.jobId));
        };
        for (const each of events) {
          if (each.kind === "add") {
            outbox.add(reportOf(String(added)), 10);
            added += 1;
            continue;
          }
          const sent = outbox.next();
          if (each.kind === "unanswered" || sent.length === 0) outbox.unanswered();
          else if (each.kind === "refused") settle(outbox.refused("INVALID_REQUEST", "No."));
          else settle(outbox.answered(each.answers));
          expect(outbox.size + settled.length).toBe(added);
        }
        while (outbox.next().length > 0) settle(outbox.answered(Array.from({ length: 4 }, () => accepted)));
        expect(settled.toSorted()).toEqual(Array.from({ length: added }, (_, n) => String(n)).toSorted());
      }),
    );
  });
});
