import { Counter, Gauge, Histogram, Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import { asClusterTotals, raised, readCounters, summed, writeCounters } from "./counters.js";

const text = (requests: number, labels = '{route="/v1/jobs",method="GET"}'): string =>
  ["# HELP requests_total Requests.", "# TYPE requests_total counter", `requests_total${labels} ${requests}`, ""].join(
    "\n",
  );

const sampleOf = (counters: ReturnType<typeof readCounters>, sample: string): number | undefined =>
  [...counters.values()].map(({ samples }) => samples.get(sample)).find((value) => value !== undefined);

describe("the counters of a text", () => {
  it("are its counters and what its histograms count, whatever is in their labels; gauges are not", async () => {
    const registry = new Registry();
    const registers = [registry];
    new Counter({ name: "seen_total", help: "Seen.", labelNames: ["of"], registers }).inc({ of: 'a "b" {c} d' }, 2.5);
    new Histogram({ name: "took_seconds", help: "Took.", buckets: [1], registers }).observe(0.5);
    new Gauge({ name: "depth", help: "Depth.", registers }).set(3);
    const counters = readCounters(await registry.metrics());
    expect([...counters.keys()]).toEqual(["seen_total", "took_seconds"]);
    expect(sampleOf(counters, 'seen_total{of="a \\"b\\" {c} d"}')).toBe(2.5);
    expect(sampleOf(counters, 'took_seconds_bucket{le="+Inf"}')).toBe(1);
    expect(sampleOf(counters, "took_seconds_sum")).toBe(0.5);
  });

  it("are the same when they are written and read again", async () => {
    const counters = readCounters(text(7));
    expect(readCounters(writeCounters(counters))).toEqual(counters);
    expect(writeCounters(counters)).toBe(text(7));
  });

  it("pass over what is no number, and what belongs to nothing", () => {
    expect(readCounters('orphan 3\n# TYPE a counter\na NaN\na{x="1"} +Inf\nbroken\n').size).toBe(0);
  });
});

describe("counters of several", () => {
  it("are raised and never lowered: neither by a lower value, nor where a series is gone", () => {
    const sample = 'requests_total{route="/v1/jobs",method="GET"}';
    expect(sampleOf(raised(readCounters(text(7)), readCounters(text(3))), sample)).toBe(7);
    expect(sampleOf(raised(readCounters(text(7)), readCounters(text(9))), sample)).toBe(9);
    expect(sampleOf(raised(readCounters(text(7)), readCounters("")), sample)).toBe(7);
  });

  it("add up by series, and take nothing from one another", () => {
    const one = readCounters(text(7));
    const all = summed([one, readCounters(text(3)), readCounters(text(5, '{route="/health",method="GET"}'))]);
    expect(sampleOf(all, 'requests_total{route="/v1/jobs",method="GET"}')).toBe(10);
    expect(sampleOf(all, 'requests_total{route="/health",method="GET"}')).toBe(5);
    expect(sampleOf(one, 'requests_total{route="/v1/jobs",method="GET"}')).toBe(7);
  });

  it("are the cluster's by their name", () => {
    const named = (name: string) => readCounters(`# HELP ${name} Jobs.\n# TYPE ${name} counter\n${name}{op="a"} 4\n`);
    expect(writeCounters(asClusterTotals(named("holdfast_jobs_total"), "holdfast_"))).toBe(
      [
        "# HELP holdfast_cluster_jobs_total All nodes together, also those that are gone: Jobs.",
        "# TYPE holdfast_cluster_jobs_total counter",
        'holdfast_cluster_jobs_total{op="a"} 4',
        "",
      ].join("\n"),
    );
    expect([...asClusterTotals(named("orders_total"), "holdfast_").keys()]).toEqual(["holdfast_cluster_orders_total"]);
  });
});
