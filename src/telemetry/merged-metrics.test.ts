import { Counter, Histogram, Registry } from "prom-client";
import { expect, it } from "vitest";
import { mergeMetrics } from "./merged-metrics.js";

async function textOf(count: number): Promise<string> {
  const registry = new Registry();
  new Counter({ name: "jobs_total", help: "Jobs.", labelNames: ["op"], registers: [registry] }).inc(
    { op: "a b" },
    count,
  );
  new Counter({ name: "plain_total", help: "No label.", registers: [registry] }).inc(count);
  new Histogram({ name: "wait_seconds", help: "Waits.", buckets: [1], registers: [registry] }).observe(0.5);
  return await registry.metrics();
}

it("metrics of several nodes stand together by family, each sample with its node", async () => {
  const merged = mergeMetrics([
    { nodeId: "a", text: await textOf(1) },
    { nodeId: 'b"\\', text: await textOf(2) },
  ]);
  const lines = merged.split("\n");
  expect(lines.filter((line) => line === "# TYPE jobs_total counter")).toHaveLength(1);
  const at = lines.indexOf("# TYPE jobs_total counter");
  expect(lines.slice(at + 1, at + 3)).toEqual([
    'jobs_total{node="a",op="a b"} 1',
    'jobs_total{node="b\\"\\\\",op="a b"} 2',
  ]);
  expect(lines).toContain('plain_total{node="a"} 1');
  expect(lines).toContain('wait_seconds_bucket{node="a",le="+Inf"} 1');
  expect(merged.endsWith("\n")).toBe(true);
});

it("of no node they are empty", () => {
  expect(mergeMetrics([])).toBe("");
});
