import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { placeGaps, placeIn, placeTerms, ticksOf } from "./geometry.js";
import type { Gap, Span } from "./spans.js";

const frame = { from: 0, to: 100_000 };
const pixels = { widthPx: 1000, closestPx: 5, labelPx: 80 };

function gap(from: number, lengthMs: number): Gap {
  return { kind: "gap", from, to: from + lengthMs, open: false, reason: "evidence", before: "a", after: "b", lengthMs };
}

describe("a stretch", () => {
  it("lies where its time is, as shares of the width", () => {
    expect(placeIn(frame, { from: 25_000, to: 75_000 })).toEqual({ left: 0.25, width: 0.5 });
  });

  it("is cut at the edges of the frame", () => {
    expect(placeIn(frame, { from: Number.NEGATIVE_INFINITY, to: 10_000 })).toEqual({ left: 0, width: 0.1 });
    expect(placeIn(frame, { from: 90_000, to: 300_000 })?.width).toBeCloseTo(0.1);
  });

  it("is not drawn where the frame does not reach", () => {
    expect(placeIn(frame, { from: -20_000, to: -10_000 })).toBeUndefined();
    expect(placeIn({ from: 5, to: 5 }, { from: 0, to: 10 })).toBeUndefined();
  });
});

describe("gaps", () => {
  it("that a pixel cannot hold are still there, one mark each", () => {
    const marks = placeGaps(frame, [gap(20_000, 3), gap(60_000, 7)], pixels);
    expect(marks.map(({ longest, left }) => [longest.lengthMs, left])).toEqual([
      [3, 0.2],
      [7, 0.6],
    ]);
    expect(marks.every(({ labelled }) => labelled)).toBe(true);
  });

  it("that lie too close share a mark that names the longest", () => {
    const [mark, ...others] = placeGaps(frame, [gap(20_000, 3), gap(20_200, 9), gap(20_400, 5)], pixels);
    expect(others).toEqual([]);
    expect(mark?.gaps.map(({ lengthMs }) => lengthMs)).toEqual([3, 9, 5]);
    expect(mark?.longest.lengthMs).toBe(9);
  });

  it("that come one after the other without an end are many marks, and not one over all", () => {
    const crowd = Array.from({ length: 500 }, (_, index) => gap(index * 200, 3));
    const marks = placeGaps(frame, crowd, pixels);
    expect(marks.length).toBeGreaterThan(150);
    for (const { width } of marks) expect(width * pixels.widthPx).toBeLessThan(6);
  });

  it("are labelled the longest first where there is no room for all", () => {
    const marks = placeGaps(frame, [gap(20_000, 3), gap(24_000, 900), gap(28_000, 5)], pixels);
    expect(marks.map(({ labelled }) => labelled)).toEqual([false, true, false]);
  });

  it("are never lost nor counted twice, and labels never overlap", () => {
    const moments = fc.array(fc.record({ at: fc.nat(120_000), long: fc.nat(5000) }), { maxLength: 60 });
    fc.assert(
      fc.property(moments, fc.integer({ min: 50, max: 2000 }), (made, widthPx) => {
        const gaps = made.toSorted((a, b) => a.at - b.at).map(({ at, long }) => gap(at, long));
        const marks = placeGaps(frame, gaps, { ...pixels, widthPx });
        expect(marks.flatMap((mark) => mark.gaps)).toEqual(gaps.filter(({ from }) => from <= frame.to));
        const centres = marks.filter(({ labelled }) => labelled).map(({ left, width }) => (left + width / 2) * widthPx);
        for (const [index, centre] of centres.entries())
          for (const other of centres.slice(index + 1)) expect(Math.abs(centre - other)).toBeGreaterThanOrEqual(80);
      }),
    );
  });
});

it("terms are placed without the gaps between them", () => {
  const spans: Span[] = [
    { kind: "term", node: "a", epoch: 1, from: 0, to: 40_000, open: false },
    gap(40_000, 10_000),
    { kind: "term", node: "b", epoch: 2, from: 50_000, to: 100_000, open: true },
  ];
  expect(placeTerms(frame, spans, 1000).map(({ term, left, width }) => [term.node, left, width])).toEqual([
    ["a", 0, 0.4],
    ["b", 0.5, 0.5],
  ]);
});

it("terms that are too short to be seen are left out", () => {
  const short: Span = { kind: "term", node: "a", epoch: 1, from: 10, to: 20, open: false };
  expect(placeTerms(frame, [short], 1000)).toEqual([]);
});

describe("ticks", () => {
  const noon = Date.UTC(2026, 10, 15, 12, 0, 0);

  it("stand at round times, not nearer than asked", () => {
    const ticks = ticksOf({ from: noon - 299_000, to: noon }, 900, 84, 0);
    expect(ticks.map(({ label }) => label)).toEqual([
      "11:55:30",
      "11:56:00",
      "11:56:30",
      "11:57:00",
      "11:57:30",
      "11:58:00",
      "11:58:30",
      "11:59:00",
      "11:59:30",
      "12:00:00",
    ]);
  });

  it("are round in local time", () => {
    const halfHour = 5.5 * 3_600_000;
    const labels = ticksOf({ from: noon - 86_400_000, to: noon }, 600, 84, halfHour).map(({ label }) => label);
    expect(labels).toEqual(["18:00", "11-15", "06:00", "12:00"]);
  });

  it("are none where there is no room, and few however long the time", () => {
    expect(ticksOf(frame, 0, 84, 0)).toEqual([]);
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2 ** 40 }), fc.integer({ min: 1, max: 4000 }), (length, widthPx) => {
        const ticks = ticksOf({ from: noon, to: noon + length }, widthPx, 84, 0);
        expect(ticks.length).toBeLessThanOrEqual(widthPx / 84 + 2);
      }),
    );
  });
});
