import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { readSource, repositoryRoot } from "./source-tree.js";

interface Figure {
  readonly bench?: string;
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly target: string;
  readonly met: boolean;
}

interface Report {
  readonly machine: string;
  readonly at: string;
  readonly commit: string | null;
  readonly seconds: number;
  readonly trial: object | null;
  readonly results: readonly Figure[];
  readonly errors: readonly { readonly bench: string; readonly message: string }[];
  readonly curves?: Readonly<Record<string, readonly (readonly [number, number])[]>>;
}

type Files = Readonly<Record<string, string>>;
const script = pathToFileURL(join(repositoryRoot, "scripts/benchmarks.mjs")).href;
const { renderBenchmarks } = (await import(script)) as {
  renderBenchmarks: (reports: { readonly results: Report; readonly soak: Report; readonly readme: string }) => Files;
};

const read = (name: string): Report => JSON.parse(readSource(`docs/benchmarks/${name}`).text) as Report;
const readme = readSource("README.md").text;
const measured = { results: read("results.json"), soak: read("soak.json"), readme };
const files = renderBenchmarks(measured);

const crash: Figure = {
  bench: "failover",
  name: "crash_failover_p50",
  value: 12.3,
  unit: "ms",
  target: "<= 25",
  met: true,
};
const run = {
  machine: "a quiet one",
  at: "2026-01-31T10:00:00.000Z",
  commit: "abc",
  seconds: 60,
  trial: null,
  errors: [],
};
const beside = ["lock_poller_crash_failover", "row_lease_crash_failover", "etcd_shortest_ttl_crash_failover"];
const others = [...beside, "step_down", "etcd_resign"].map(
  (name): Figure => ({ ...crash, name: `${name}_p50`, value: 456, target: "reported" }),
);
const results: Report = { ...run, results: [crash, ...others] };
const soak: Report = {
  ...run,
  results: [{ name: "soak_minutes", value: 2, unit: "min", target: "reported", met: true }],
  curves: {
    heap: [
      [1, 80],
      [2, 81],
    ],
  },
};
const pageOf = (all: Files): string => all["docs/benchmarks.md"] ?? "";

describe("the benchmarks", () => {
  it.each(Object.keys(files))("in %s are what was measured: else run node scripts/benchmarks.mjs", (path) => {
    expect(readSource(path).text).toBe(files[path]);
  });

  it("have a row for every figure", () => {
    const page = pageOf(files);
    const all = [...measured.results.results, ...measured.soak.results];
    expect(all.filter(({ name }) => !page.includes(`| \`${name}\` `))).toEqual([]);
  });

  it("show a target that was met", () => {
    const all = renderBenchmarks({ results, soak, readme });
    expect(pageOf(all)).toContain("All 1 targets are met.");
    expect(pageOf(all)).toMatch(/\| `crash_failover_p50` +\| 12\.3 +\| ms +\| <= 25 +\| yes /);
    expect(all["docs/benchmarks/failover.svg"]).not.toContain("NOT met");
  });

  it("show a target that was missed, in words and in its plot, and count it", () => {
    const all = renderBenchmarks({
      results: { ...results, results: [{ ...crash, value: 99, met: false }, ...others] },
      soak,
      readme,
    });
    expect(pageOf(all)).toContain("met: 0, NOT met: 1,");
    expect(pageOf(all)).toMatch(/\| `crash_failover_p50` +\| 99 +\| ms +\| <= 25 +\| \*\*NOT met\*\* /);
    expect(all["docs/benchmarks/failover.svg"]).toContain("99 NOT met (&lt;= 25)");
  });

  it("say of a bench that failed that it did, and why, and draw nothing for it", () => {
    const errors = [{ bench: "gate", message: "the server is gone" }];
    const all = renderBenchmarks({ results: { ...results, errors }, soak, readme });
    expect(pageOf(all)).toContain("## gate\n\nIt did not come to its end: `the server is gone`");
    expect(Object.keys(all)).not.toContain("docs/benchmarks/gate.svg");
  });

  it("say that a trial is none", () => {
    const trial = { rounds: 1, messages: null };
    expect(pageOf(renderBenchmarks({ results: { ...results, trial }, soak, readme }))).toContain(
      "a trial with `--rounds 1`,",
    );
    expect(pageOf(renderBenchmarks({ results, soak, readme }))).not.toContain("trial");
  });

  it("are in the README beside what they were measured with, and not after a trial", () => {
    const row = /\| A leader is killed: until another acts \| 12\.3 ms +\| 456 ms \(advisory lock, polled\); /;
    expect(renderBenchmarks({ results, soak, readme })["README.md"]).toMatch(row);
    expect(renderBenchmarks({ results: { ...results, trial: {} }, soak, readme })["README.md"]).not.toMatch(row);
    expect(() => renderBenchmarks({ results: { ...results, results: others }, soak, readme })).toThrow("has no figure");
  });

  it("draw the curves of the soak", () => {
    expect(renderBenchmarks({ results, soak, readme })["docs/benchmarks/soak.svg"]).toMatch(
      /<polyline [^>]*points="[\d.]+,[\d.]+ /,
    );
  });
});
