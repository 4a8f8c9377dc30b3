import { describe, expect, it } from "vitest";
import { fault, made } from "../checkers/made-history.js";
import { judge } from "../judgement.js";
import { renderReport } from "./report.js";

const calm = made(
  { kind: "run", at: 0, seed: 7, faults: ["kill", "disk_full"] },
  { kind: "process", at: 1 },
  { kind: "process", at: 1, by: "b-1" },
  { kind: "elected", at: 100 },
  { kind: "gate", at: 150 },
  ...fault("kill", 200, 2_000),
  { kind: "process", what: "ended", at: 201, how: "SIGKILL" },
  { kind: "elected", at: 900, by: "b-1", epoch: "2" },
  { kind: "gate", at: 901, by: "b-1", epoch: "2" },
  { kind: "rejection", at: 905, code: "STALE_EPOCH" },
  { kind: "gate", at: 1_000, by: "b-1", epoch: "2" },
);

describe("a report", () => {
  it("shows who led where, the faults and the time without a leader", () => {
    const page = renderReport(calm, judge(calm));
    expect(page).toContain("a-1 led r under epoch 1, 101 ms");
    expect(page).toContain("b-1 led r under epoch 2");
    expect(page).toContain("kill on a, 1800 ms");
    expect(page).toContain("r: nobody for 750 ms");
    expect(page).toContain("no violation");
    expect(page).toContain("<td>STALE_EPOCH</td><td>1</td>");
  });

  it("says which fault was asked for and never happened", () => {
    expect(renderReport(calm, judge(calm))).toContain('<td>disk_full</td><td><span class="bad">never</span></td>');
  });

  it("marks each violation on the timeline, and lists it", () => {
    const broken = [...calm, ...made({ kind: "elected", at: 1_500, by: "c-1", epoch: "2" })];
    const page = renderReport(broken, judge(broken));
    expect(page).toContain("2 violations");
    expect(page).toMatch(/<line class="violation"[^>]*><title>epochs: r: epoch 2 was given to b-1 and again to c-1/);
    expect(page).toContain("broken 2 times");
  });

  it("is one page that asks for nothing else, and takes no text for markup", () => {
    const odd = [...calm, ...made({ kind: "rejection", at: 950, code: '<script src="//x">' })];
    const page = renderReport(odd, judge(odd));
    expect(page).not.toMatch(/<script|<link|<img|url\(|@import/);
    expect(page).toContain("&lt;script src=&quot;//x&quot;&gt;");
    expect(page).toContain("prefers-color-scheme: dark");
  });
});
