import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LeaseBook } from "./lease-book.js";

const leaseId = "lease";

function bookWith(ttlMs: number | null, ...jobIds: readonly string[]): LeaseBook {
  const book = new LeaseBook(100);
  book.take(leaseId, jobIds, ttlMs, 1_000);
  return book;
}

describe("the leases of an agent", () => {
  it("are renewed at a third of their time, counted from the sending of the last renewal", () => {
    const book = bookWith(9_000, "a");
    expect(book.dueAt()).toBe(4_000);
    expect(book.due(3_999)).toEqual([]);
    expect(book.due(4_000)).toEqual([{ leaseId, progress: [] }]);
    expect(book.renewed(leaseId, { sentAt: 4_000, ttlMs: 9_000, jobIds: ["a"] })).toEqual([]);
    expect(book.dueAt()).toBe(7_000);
  });

  it("of a long time are renewed every 20 s all the same", () => {
    expect(bookWith(3_600_000, "a").dueAt()).toBe(21_000);
  });

  it("of an unknown time are renewed often, and judged by the leader alone", () => {
    const book = bookWith(null, "a");
    expect(book.dueAt()).toBe(6_000);
    expect(book.ranOut(1_000_000)).toEqual([]);
  });

  it("are asked about once at a time, and again at once where nobody answered", () => {
    const book = bookWith(9_000, "a");
    const [due] = book.due(4_000);
    expect(book.due(5_000)).toEqual([]);
    expect(book.dueAt()).toBe(10_000);
    book.kept(due!);
    expect(book.due(5_000)).toHaveLength(1);
  });

  it("run out where they were not renewed, also while a renewal is on its way", () => {
    const book = bookWith(9_000, "a", "b");
    book.due(4_000);
    expect(book.ranOut(9_999)).toEqual([]);
    expect(book.ranOut(10_000)).toEqual([
      { leaseId, jobId: "a" },
      { leaseId, jobId: "b" },
    ]);
    expect(book.renewed(leaseId, { sentAt: 4_000, ttlMs: 9_000, jobIds: ["a"] })).toEqual([]);
    expect(book.dueAt()).toBeNull();
  });

  it("tell which jobs are lost: those that the leader does not count to them any more", () => {
    const book = bookWith(9_000, "a", "b", "c");
    book.due(4_000);
    expect(book.renewed(leaseId, { sentAt: 4_000, ttlMs: 9_000, jobIds: ["b"] })).toEqual([
      { leaseId, jobId: "a" },
      { leaseId, jobId: "c" },
    ]);
    expect(book.lost(leaseId)).toEqual([{ leaseId, jobId: "b" }]);
    expect(book.leaseIds).toEqual([]);
  });

  it("end with the last of their jobs", () => {
    const book = bookWith(9_000, "a", "b");
    book.settled({ leaseId, jobId: "a" });
    expect(book.leaseIds).toEqual([leaseId]);
    book.settled({ leaseId, jobId: "b" });
    expect(book.leaseIds).toEqual([]);
    expect(book.dueAt()).toBeNull();
  });

  it("are renewed sooner where a job tells how far it is, and only the last word counts", () => {
    const book = bookWith(9_000, "a", "b");
    book.told({ leaseId, jobId: "a" }, 1);
    book.told({ leaseId, jobId: "a" }, 2);
    expect(book.dueAt()).toBe(1_100);
    expect(book.due(1_100)).toEqual([{ leaseId, progress: [{ jobId: "a", progress: 2 }] }]);
    book.renewed(leaseId, { sentAt: 1_100, ttlMs: 9_000, jobIds: ["a", "b"] });
    expect(book.dueAt()).toBe(4_100);
  });

  it("tell progress again that nobody heard, unless there is newer, or the job is over", () => {
    const book = bookWith(9_000, "a", "b", "c");
    for (const jobId of ["a", "b", "c"]) book.told({ leaseId, jobId }, "old");
    const [due] = book.due(1_100);
    book.told({ leaseId, jobId: "b" }, "new");
    book.settled({ leaseId, jobId: "c" });
    book.kept(due!);
    expect(book.due(1_200)[0]?.progress.toSorted((one, other) => (one.jobId < other.jobId ? -1 : 1))).toEqual([
      { jobId: "a", progress: "old" },
      { jobId: "b", progress: "new" },
    ]);
  });

  it("hear nothing of a job that is not theirs", () => {
    const book = bookWith(9_000, "a");
    book.told({ leaseId, jobId: "b" }, 1);
    book.told({ leaseId: "other", jobId: "a" }, 1);
    expect(book.dueAt()).toBe(4_000);
  });

  it("are never lost to one that is renewed whenever it is due, however late each answer is within a third of its time", () => {
    const delays = fc.array(fc.integer({ min: 0, max: 2_900 }), { maxLength: 40 });
    fc.assert(
      fc.property(delays, (lateMs) => {
        const book = bookWith(9_000, "a");
        for (const late of lateMs) {
          const sentAt = book.dueAt()!;
          expect(book.due(sentAt)).toHaveLength(1);
          expect(book.ranOut(sentAt + late)).toEqual([]);
          book.renewed(leaseId, { sentAt, ttlMs: 9_000, jobIds: ["a"] });
        }
      }),
    );
  });
});
