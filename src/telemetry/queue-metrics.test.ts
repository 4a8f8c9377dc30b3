import { Registry } from "prom-client";
import { describe, expect, it } from "vitest";
import { QueueMetrics } from "./queue-metrics.js";

function measure() {
  const registry = new Registry();
  const metrics = new QueueMetrics(registry, "holdfast_");
  const depth: Record<string, number> = { ingress: 0, outbound: 0 };
  const reading = {
    depth: () => depth,
    oldestSeconds: async () => await Promise.resolve(depth.ingress === 0 ? 0 : 2.5),
  };
  const counts = metrics.addQueue("orders", reading);
  const lines = async (name: string) =>
    (await registry.metrics()).split("\n").filter((line) => line.startsWith(`holdfast_queue_${name}`));
  return { registry, metrics, counts, depth, lines };
}

describe("the metrics of a queue", () => {
  it("exist at 0 from the moment it is made", async () => {
    const { lines } = measure();
    expect(await lines("depth")).toEqual([
      'holdfast_queue_depth{stage="ingress",queue="orders"} 0',
      'holdfast_queue_depth{stage="outbound",queue="orders"} 0',
    ]);
    for (const name of ["oldest_seconds", "delivered_total", "dead_total", "reclaimed_total"]) {
      expect(await lines(name)).toEqual([`holdfast_queue_${name}{queue="orders"} 0`]);
    }
    expect(await lines("delivery_seconds_count")).toEqual(['holdfast_queue_delivery_seconds_count{queue="orders"} 0']);
  });

  it("say what is, when they are read", async () => {
    const { lines, depth, counts } = measure();
    depth.ingress = 7;
    counts.delivered(500);
    counts.delivered(20);
    counts.dead(2);
    counts.reclaimed(3);
    expect(await lines("depth")).toContain('holdfast_queue_depth{stage="ingress",queue="orders"} 7');
    expect(await lines("oldest_seconds")).toEqual(['holdfast_queue_oldest_seconds{queue="orders"} 2.5']);
    expect(await lines("delivered_total")).toEqual(['holdfast_queue_delivered_total{queue="orders"} 520']);
    expect(await lines("dead_total")).toEqual(['holdfast_queue_dead_total{queue="orders"} 2']);
    expect(await lines("reclaimed_total")).toEqual(['holdfast_queue_reclaimed_total{queue="orders"} 3']);
  });

  it("time each delivery in a histogram like any other", async () => {
    const { lines, counts, registry } = measure();
    for (const seconds of [0, 0.001, 0.002, 0.2, 7_200]) counts.deliveryTimes.observe(seconds);
    const said = await lines("delivery_seconds");
    expect(said).toContain('holdfast_queue_delivery_seconds_bucket{le="0.001",queue="orders"} 2');
    expect(said).toContain('holdfast_queue_delivery_seconds_bucket{le="0.0025",queue="orders"} 3');
    expect(said).toContain('holdfast_queue_delivery_seconds_bucket{le="3600",queue="orders"} 4');
    expect(said).toContain('holdfast_queue_delivery_seconds_bucket{le="+Inf",queue="orders"} 5');
    expect(said).toContain('holdfast_queue_delivery_seconds_count{queue="orders"} 5');
    expect(said).toContain('holdfast_queue_delivery_seconds_sum{queue="orders"} 7200.203');
    expect(await registry.metrics()).toContain("# TYPE holdfast_queue_delivery_seconds histogram");
    const json = (await registry.getMetricsAsJSON()).find(({ name }) => name === "holdfast_queue_delivery_seconds");
    expect(json).toMatchObject({ type: "histogram" });
    registry.resetMetrics();
    expect(await lines("delivery_seconds_sum")).toEqual(['holdfast_queue_delivery_seconds_sum{queue="orders"} 0']);
  });

  it("are gone with the node", async () => {
    const { registry, metrics } = measure();
    metrics.remove();
    expect(registry.getMetricsAsArray()).toEqual([]);
    await Promise.resolve();
  });
});
