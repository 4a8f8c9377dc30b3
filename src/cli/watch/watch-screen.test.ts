import { describe, expect, it } from "vitest";
import { fakeCluster, fakeLeader, fakeNode } from "../../../test/support/fake-node.js";
import { plain } from "../paint.js";
import { lengthOf } from "../table.js";
import type { ClusterPicture } from "./cluster-picture.js";
import { frameOf, renderScreen } from "./watch-screen.js";

const picture = (nodes: number): ClusterPicture => ({
  ...fakeCluster(
    Array.from({ length: nodes }, (_, index) => fakeNode(`node-${index}`, { is_leader: index === 0 })),
    fakeLeader("node-0", 7),
  ),
  via: "http://127.0.0.1:7400",
  at: 1_100,
});

const look = { paint: plain, now: 1_100 };

describe("the screen", () => {
  it("shows who leads, who is here and what happened", () => {
    const lines = renderScreen({ picture: picture(2), notice: null }, { columns: 120, rows: 24 }, look);
    expect(lines[0]).toMatch(/^default: 2 active {2}via http:\/\/127\.0\.0\.1:7400 {2}\d\d:\d\d:\d\d$/);
    expect(lines).toContainEqual(expect.stringMatching(/^scheduler +node-0 +7 +50\.0 s +4\.5 s/));
    expect(lines).toContainEqual(expect.stringMatching(/^node-0 +active +yes +just now +1 min 40 s/));
    expect(lines).toContainEqual(expect.stringMatching(/scheduler +7 +elected +evidence +node-0 +- +5\.1 ms$/));
    expect(lines.at(-1)).toBe("q quits");
  });

  it.each([
    [20, 5],
    [40, 10],
    [80, 24],
    [200, 60],
    [1, 1],
  ])("fits %d columns and %d rows, with many nodes too", (columns, rows) => {
    const lines = renderScreen({ picture: picture(50), notice: "a notice" }, { columns, rows }, look);
    expect(lines.length).toBeLessThanOrEqual(rows);
    for (const line of lines) expect(lengthOf(line)).toBeLessThanOrEqual(columns);
  });

  it("says how many nodes it had no room for", () => {
    const lines = renderScreen({ picture: picture(50), notice: null }, { columns: 80, rows: 20 }, look);
    const shown = lines.filter((line) => /^node-\d/.test(line)).length;
    expect(lines).toContain(`and ${50 - shown} more`);
  });

  it("is drawn over the one before, each line to its end", () => {
    expect(frameOf(["a", "b"])).toBe("\u001b[Ha\u001b[K\r\nb\u001b[K\u001b[J");
  });
});
