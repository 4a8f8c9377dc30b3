import { describe, expect, it } from "vitest";
import { JobLedger } from "../../../test/support/job-ledger.js";
import { type Fault, StandInLeader } from "../../../test/support/stand-in-leader.js";
import { waitUntil } from "../../store/embedded/wait-until.js";
import { Agent } from "./agent.js";

/** The same numbers for the same seed. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** A third of all requests goes wrong, each in its own way. */
function weatherOf(random: () => number, other: () => string, happened: Map<string, number>) {
  const kinds: readonly (() => Fault)[] = [
    () => ({ kind: "reset" }),
    () => ({ kind: "lost_reply" }),
    () => ({ kind: "garbage" }),
    () => ({ kind: "stranger" }),
    () => ({ kind: "not_leader", leaderUrl: null }),
    () => ({ kind: "not_leader", leaderUrl: other() }),
    () => ({ kind: "refuse", status: 503, error: "DRAINING" }),
    () => ({ kind: "refuse", status: 503, error: "UNKNOWN_OUTCOME" }),
  ];
  return (path: string): Fault | null => {
    if (random() > 0.33) return null;
    // The answer to a request for work may be lost too: that work comes again when its lease has run out.
    const fault = kinds[Math.floor(random() * kinds.length)]?.() ?? null;
    const name = `${fault?.kind} ${path.replace(/leases\/.*\//, "leases/id/")}`;
    happened.set(name, (happened.get(name) ?? 0) + 1);
    return fault;
  };
}

describe("agents in bad weather", () => {
  it.each([1, 2, 3])("do every job, and each result is accepted once (seed %i)", async (seed) => {
    const random = randomOf(seed);
    const ledger = new JobLedger();
    ledger.ttlMs = 1_000;
    const happened = new Map<string, number>();
    await using one = await StandInLeader.start(ledger);
    await using two = await StandInLeader.start(ledger);
    one.fault = weatherOf(random, () => two.url, happened);
    two.fault = weatherOf(random, () => one.url, happened);
    const jobs = Array.from({ length: 80 }, (_, n) => ledger.submit("work", { n, ms: random() < 0.05 ? 80 : 0 }));
    const work = async ({ n, ms }: { readonly n: number; readonly ms: number }): Promise<number> => {
      await new Promise((resolve) => setTimeout(resolve, ms));
      return n;
    };
    const agents = ["a", "b"].map(
      (name) =>
        new Agent({
          url: [one.url, two.url],
          name,
          operations: { work },
          concurrency: 8,
          heartbeatMs: 50,
          pollMs: 500,
        }),
    );
    const running = agents.map((agent) => agent.run());
    const done = await waitUntil(() => ledger.isDone(), 25_000);
    one.fault = () => null;
    two.fault = () => null;
    await Promise.all(agents.map((agent) => agent.stop()));
    await Promise.all(running);
    expect(done).toBe(true);
    expect(jobs.map(({ result, accepted }) => [result, accepted.length])).toEqual(jobs.map((_, n) => [n, 1]));
    expect(agents.map(({ counts }) => counts.waitingResults)).toEqual([0, 0]);
    // Who reported it also heard that it was accepted, once, however often it had to be sent.
    expect(agents.reduce((sum, { counts }) => sum + counts.accepted, 0)).toBe(jobs.length);
    // The weather was bad indeed, and for everything that was asked.
    const faults = [...happened.keys()].map((name) => name.split(" "));
    expect(new Set(faults.map(([kind]) => kind)).size).toBeGreaterThanOrEqual(5);
    expect(faults.map(([, path]) => path)).toEqual(
      expect.arrayContaining(["/v1/leases", "/v1/results", "/v1/agents/heartbeat"]),
    );
  });
});
