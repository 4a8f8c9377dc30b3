import { describe, expect, it } from "vitest";
import { plain } from "../paint.js";
import { lengthOf } from "../table.js";
import { renderDemo, type ScreenLook } from "./demo-screen.js";
import { type Condition, type DemoState, initialState } from "./demo-state.js";
import { storyOf } from "./demo-story.js";

const look: ScreenLook = { columns: 100, rows: 24, paint: plain, now: 2_500, logs: ".holdfast/demo/7400" };

const takeover = { from: "node-1", deed: "killed", to: "node-2", epoch: 4, tookMs: 13.14, databaseMs: 8 } as const;

function cluster(conditions: readonly Condition[], rest: Partial<DemoState> = {}): DemoState {
  const places = conditions.map((_, index) => ({ id: `node-${index + 1}`, url: `http://127.0.0.1:${7400 + index}` }));
  const state = initialState(places);
  const nodes = state.nodes.map((node, index) => ({
    ...node,
    pid: 100 + index,
    condition: conditions[index] ?? ({ kind: "starting" } as const),
  }));
  return { ...state, nodes, ...rest };
}

const conditions: readonly Condition[] = [
  { kind: "dead", how: "SIGKILL" },
  { kind: "leads", epoch: 4 },
  { kind: "frozen" },
  { kind: "stands_by" },
  { kind: "silent" },
];

describe("the screen of the demo", () => {
  it("shows who leads, every node, the takeovers and the keys", () => {
    expect(renderDemo(cluster(conditions, { takeovers: [takeover], notice: "A notice." }), look)).toEqual([
      "Holdfast demo: each address below is the dashboard",
      "node-2 leads, epoch 4",
      "",
      "node    status           pid  address",
      "node-1  dead (SIGKILL)   100  http://127.0.0.1:7400",
      "node-2  leads, epoch 4   101  http://127.0.0.1:7401",
      "node-3  frozen           102  http://127.0.0.1:7402",
      "node-4  stands by        103  http://127.0.0.1:7403",
      "node-5  does not answer  104  http://127.0.0.1:7404",
      "",
      "takeovers, the latest first",
      "node-1 killed: node-2 leads after 13.1 ms, epoch 4 (the database: 8.0 ms without a leader)",
      "",
      "A notice.",
      "k kill the leader   s freeze it   r revive   q quit",
      "logs and the address of the database: .holdfast/demo/7400",
    ]);
  });

  it("counts while nobody leads", () => {
    const blow = { nodeId: "node-1", deed: "frozen", at: 1_300 } as const;
    const lines = renderDemo(cluster([{ kind: "frozen" }, { kind: "stands_by" }], { blow }), look);
    expect(lines[1]).toBe("nobody leads: node-1 was frozen 1.2 s ago");
  });

  it.each([
    [1, 1],
    [20, 6],
    [40, 12],
    [80, 24],
    [200, 60],
  ])("fits %d columns and %d rows, after many takeovers too", (columns, rows) => {
    const state = cluster(conditions, {
      takeovers: Array.from({ length: 20 }, () => takeover),
      notice: "x".repeat(300),
    });
    const lines = renderDemo(state, { ...look, columns, rows });
    expect(lines.length).toBeLessThanOrEqual(rows);
    for (const line of lines) expect(lengthOf(line)).toBeLessThanOrEqual(columns);
  });

  it("keeps the keys in sight where takeovers would push them out", () => {
    const state = cluster(conditions, { takeovers: Array.from({ length: 20 }, () => takeover) });
    const lines = renderDemo(state, { ...look, rows: 18 });
    expect(lines).toContain("k kill the leader   s freeze it   r revive   q quit");
    expect(lines.filter((line) => line.startsWith("node-1 killed")).length).toBeGreaterThan(1);
  });
});

describe("the story of the demo", () => {
  const calm = cluster([{ kind: "leads", epoch: 3 }, { kind: "stands_by" }]);

  it("tells the end of a node and the takeover, each once", () => {
    const ended = cluster([{ kind: "dead", how: "SIGKILL" }, { kind: "stands_by" }]);
    const taken = { ...ended, takeovers: [{ ...takeover, databaseMs: null }] };
    const accounted = { ...ended, takeovers: [takeover] };
    expect(storyOf(calm, ended)).toEqual(["node-1 (pid 100) ended: SIGKILL"]);
    expect(storyOf(ended, taken)).toEqual([]);
    expect(storyOf(taken, accounted)).toEqual([
      "node-1 killed: node-2 leads after 13.1 ms, epoch 4 (the database: 8.0 ms without a leader)",
    ]);
    expect(storyOf(accounted, accounted)).toEqual([]);
  });

  it("names nobody who struck where the role was handed over", () => {
    const handed = { ...takeover, deed: null, tookMs: null };
    expect(storyOf(calm, { ...calm, takeovers: [handed] })).toEqual([
      "node-1 handed over: node-2 leads, epoch 4 (the database: 8.0 ms without a leader)",
    ]);
  });

  it("hands nothing over where the same node leads again", () => {
    const woken = { ...takeover, from: "node-2", deed: null, tookMs: null, epoch: 3, databaseMs: 2_000 };
    expect(storyOf(calm, { ...calm, takeovers: [woken] })).toEqual([
      "node-2 leads again, epoch 3 (the database: 2.0 s without a leader)",
    ]);
    const frozen = { ...woken, deed: "frozen", tookMs: 7_000 } as const;
    expect(storyOf(calm, { ...calm, takeovers: [frozen] })).toEqual([
      "node-2 frozen: node-2 leads again after 7.0 s, epoch 3 (the database: 2.0 s without a leader)",
    ]);
  });
});
