import { describe, expect, it } from "vitest";
import { UpkeepScene } from "../../test/support/upkeep-scene.js";
import type { Incarnation, NodeId } from "../election/core/names.js";
import { HoldfastError } from "../errors.js";
import { MetricsAggregator } from "./aggregator.js";

const day = 86_400_000;
const role = "metrics_aggregator";

/** Processes that leave copies of one counter, and a leader that puts them together. */
class Scene extends UpkeepScene {
  readonly aggregator = new MetricsAggregator({
    book: this.store.metrics,
    prefix: "holdfast_",
    clock: this.clock,
    trouble: this.trouble,
  });

  copy(nodeId: string, incarnation: string, failovers: number): void {
    const name = "holdfast_leader_failovers_total";
    const text = `# HELP ${name} Takeovers.\n# TYPE ${name} counter\n${name}{role="scheduler"} ${failovers}\n`;
    const node = { nodeId, incarnation, status: "active" } as never;
    this.shared.nodes.set(nodeId, node);
    this.shared.snapshots.set(incarnation as Incarnation, {
      nodeId: nodeId as NodeId,
      at: this.database.now(),
      text,
    });
  }

  async rounds(number: number): Promise<void> {
    await this.lead(role, this.aggregator, async () => await this.clock.advance((number - 1) * 15_000));
  }

  async total(): Promise<number | null> {
    const text = (await this.store.metrics.totals())?.text ?? "";
    const found = /^holdfast_cluster_leader_failovers_total\{role="scheduler"\} (\S+)$/m.exec(text);
    return found === null ? null : Number(found[1]);
  }
}

describe("the totals", () => {
  it("are the sum over every process that was seen, also of a node's earlier ones", async () => {
    const scene = new Scene();
    scene.copy("a", "a-1", 3);
    scene.copy("b", "b-1", 2);
    await scene.rounds(1);
    expect(await scene.total()).toBe(5);
    scene.copy("a", "a-2", 1); // Restarted, and counting from nothing.
    await scene.rounds(1);
    expect(await scene.total()).toBe(6);
    scene.copy("a", "a-2", 4);
    await scene.rounds(2);
    expect(await scene.total()).toBe(9);
    expect(scene.shared.snapshots.has("a-1" as Incarnation)).toBe(false);
  });

  it("never go down: not by a registry that was reset, nor by a copy that is gone", async () => {
    const scene = new Scene();
    scene.copy("a", "a-1", 5);
    await scene.rounds(1);
    scene.copy("a", "a-1", 1);
    await scene.rounds(1);
    expect(await scene.total()).toBe(5);
    scene.shared.snapshots.clear(); // The server crashed: copies are not logged.
    await scene.rounds(1);
    expect(await scene.total()).toBe(5);
    scene.copy("a", "a-1", 7);
    await scene.rounds(1);
    expect(await scene.total()).toBe(7);
  });

  it("count a process once that was taken for dead, and revives", async () => {
    const scene = new Scene();
    scene.copy("a", "a-1", 5);
    scene.shared.nodes.set("a", { status: "dead", incarnation: "a-1" } as never);
    await scene.rounds(2);
    expect(scene.shared.snapshots.size).toBe(0);
    scene.copy("a", "a-1", 6);
    await scene.rounds(1);
    expect(await scene.total()).toBe(6);
  });

  it("stay when those long gone are put together, and a living one is not, however long nobody looked", async () => {
    const scene = new Scene();
    scene.copy("a", "a-1", 3);
    scene.copy("b", "b-1", 2);
    await scene.rounds(1);
    scene.shared.snapshots.delete("a-1" as Incarnation);
    await scene.clock.advance(8 * day);
    scene.copy("c", "c-1", 10);
    await scene.rounds(1);
    expect(await scene.total()).toBe(15);
    const kept = (await scene.store.metrics.processes()).map(({ incarnation }) => incarnation);
    expect(kept).toEqual(["", "b-1", "c-1"]);
    scene.shared.snapshots.delete("b-1" as Incarnation);
    await scene.clock.advance(8 * day);
    await scene.rounds(1);
    expect(await scene.total()).toBe(15);
    expect(await scene.store.metrics.processes()).toMatchObject([{ incarnation: "" }, { incarnation: "c-1" }]);
  });

  it("go on by what the database has, when a round failed and nobody knows what became of it", async () => {
    const scene = new Scene();
    const keep = scene.store.metrics.keep.bind(scene.store.metrics);
    let failing = 2;
    scene.store.metrics.keep = async (fence, round) => {
      await keep(fence, round);
      failing -= 1;
      if (failing >= 0) throw new HoldfastError("UNKNOWN_OUTCOME", "lost");
    };
    scene.copy("a", "a-1", 3);
    await scene.rounds(2);
    expect(await scene.total()).toBe(3);
    expect(scene.troubles).toEqual(Array(2).fill("could not put the metrics of the cluster together"));
    scene.copy("a", "a-1", 4);
    await scene.rounds(1);
    expect(await scene.total()).toBe(4);
  });

  it("are not this leader's any more when another one was elected", async () => {
    const scene = new Scene();
    scene.copy("a", "a-1", 3);
    const leading = scene.lead(role, scene.aggregator, async () => {
      await scene.clock.advance(0);
      scene.elect(role);
      await scene.clock.advance(15_000);
    });
    await expect(leading).rejects.toMatchObject({ code: "STALE_EPOCH" });
  });
});

describe("the points", () => {
  it("are as many as two hours have rounds, and tell how a series of each node has grown", async () => {
    const scene = new Scene();
    scene.copy("a", "a-1", 3);
    await scene.rounds(10);
    scene.copy("a", "a-1", 9);
    await scene.rounds(600);
    const points = await scene.store.metrics.points(day);
    expect(points).toHaveLength(481);
    await scene.clock.advance(60_000);
    scene.copy("a", "a-1", 10);
    scene.copy("b", "b-1", 1);
    await scene.rounds(1);
    const [before, now] = (await scene.store.metrics.points(90_000)).slice(-2);
    expect(now?.nodes).toContain('holdfast_leader_failovers_total{node="a",role="scheduler"} 10');
    expect(now?.nodes).toContain('holdfast_leader_failovers_total{node="b",role="scheduler"} 1');
    expect(before?.nodes ?? "").not.toContain('node="b"');
  });

  it("show no node that has left no copy for 45 s, nor one that is gone", async () => {
    const scene = new Scene();
    scene.copy("silent", "s-1", 3);
    await scene.clock.advance(46_000);
    scene.copy("a", "a-1", 1);
    scene.copy("gone", "g-1", 1);
    scene.shared.nodes.set("gone", { status: "left", incarnation: "g-1" } as never);
    await scene.rounds(1);
    const [point] = await scene.store.metrics.points(1_000);
    expect(point?.nodes.match(/node="\w+"/g)).toEqual(['node="a"']);
    expect(await scene.total()).toBe(5);
  });
});
