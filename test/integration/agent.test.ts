import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { waitUntil } from "../../src/store/embedded/wait-until.js";
import { AgentProcess } from "../support/agent-process.js";
import { createTestDatabase, type TestDatabase, withClient } from "../support/postgres.js";
import { ServeCluster } from "../support/serve-cluster.js";
import type { ServeProcess } from "../support/serve-process.js";

const patienceMs = 60_000;
const mark = `export default async ({ n, ms = 0 }, { progress }) => {
  progress({ n });
  await new Promise((resolve) => setTimeout(resolve, ms));
  return 2 * n;
};`;

interface JobRow {
  readonly state: string;
  readonly result: unknown;
  readonly attempts: number;
  readonly agent: string | null;
  readonly error: string | null;
}

describe("agents and a real cluster", () => {
  let database: TestDatabase;
  let cluster: ServeCluster;

  beforeAll(async () => {
    database = await createTestDatabase();
    cluster = await ServeCluster.start(database.url, 2, { "store.lease_ttl_seconds": 5 });
  });

  afterAll(async () => {
    await cluster?.[Symbol.asyncDispose]();
    await database?.drop();
  });

  const jobs = async (op: string): Promise<readonly JobRow[]> =>
    await withClient(database.url, async (client) => {
      const { rows } = await client.query(
        "SELECT state, result, error, attempts, agent FROM holdfast.jobs WHERE op = $1 ORDER BY n",
        [op],
      );
      return rows as JobRow[];
    });

  /** How often a result was accepted, by what the events tell. */
  const successes = async (op: string): Promise<number> =>
    await withClient(database.url, async (client) => {
      const { rows } = await client.query(
        `SELECT count(*)::int AS count FROM holdfast.events,
           json_array_elements_text(CASE json_typeof(data -> 3) WHEN 'array' THEN data -> 1 ELSE '[]' END)
             WITH ORDINALITY AS op(name, i),
           json_array_elements_text(CASE json_typeof(data -> 3) WHEN 'array' THEN data -> 3 ELSE '[]' END)
             WITH ORDINALITY AS became(state, i)
         WHERE kind = 'jobs' AND op.i = became.i AND op.name = $1 AND became.state = 'succeeded'`,
        [op],
      );
      return (rows[0] as { readonly count: number }).count;
    });

  const submit = async (leader: ServeProcess, op: string, payloads: readonly object[]): Promise<void> => {
    const answer = await leader.post<{ readonly jobs: readonly object[] }>("/v1/jobs", {
      jobs: payloads.map((payload) => ({ op, payload })),
    });
    expect(answer.jobs).toHaveLength(payloads.length);
  };

  const finished = async (op: string): Promise<readonly JobRow[]> => {
    let rows: readonly JobRow[] = [];
    const areDone = async (): Promise<boolean> => {
      rows = await jobs(op);
      return rows.length > 0 && rows.every(({ state }) => state !== "queued" && state !== "leased");
    };
    expect(await waitUntil(areDone, patienceMs)).toBe(true);
    return rows;
  };

  it("give back what they stop with; who has no such operation fails it for good", async () => {
    const [first, second] = cluster.nodes as [ServeProcess, ServeProcess];
    const urls = [second.url];
    await submit(first, "long", [{ n: 1, ms: 600_000 }]);
    await using leaving = await AgentProcess.spawn({
      urls,
      operations: { "long.mjs": mark },
      args: ["--drain-timeout", "50ms"],
    });
    expect(await waitUntil(async () => (await jobs("long"))[0]?.state === "leased", patienceMs)).toBe(true);
    leaving.kill("SIGTERM");
    expect(await leaving.exited).toEqual({ code: 0, signal: null });
    expect(await jobs("long")).toMatchObject([{ state: "queued", attempts: 0 }]);
    await using _other = await AgentProcess.spawn({ urls, operations: { "mark.mjs": mark } });
    const error = 'this agent has no operation "long"';
    expect(await finished("long")).toMatchObject([{ state: "failed", attempts: 1, agent: "worker-1", error }]);
  });

  it("leave a leader that is frozen, also when all they do is wait", async () => {
    const [first, second] = cluster.nodes as [ServeProcess, ServeProcess];
    await using agent = await AgentProcess.spawn({ urls: [first.url, second.url], operations: { "thaw.mjs": mark } });
    await agent.said("registered");
    first.freeze();
    try {
      await cluster.agree("node-2", [second]);
      await submit(second, "thaw", [{ n: 4 }]);
      expect(await finished("thaw")).toMatchObject([{ state: "succeeded", result: 8, attempts: 1 }]);
    } finally {
      first.thaw();
    }
    await cluster.agree("node-2");
  });

  it("find the leader from any node, and lose nothing and do nothing twice when it is killed", async () => {
    const leader = await cluster.leader();
    const [standby] = (await cluster.standbys()) as [ServeProcess];
    const urls = [standby.url, leader.url];
    await using agent = await AgentProcess.spawn({ urls, operations: { "mark.mjs": mark } });
    await agent.said("a leader serves this agent");
    const payloads = Array.from({ length: 300 }, (_, n) => ({ n, ms: 10 }));
    await submit(leader, "mark", payloads);
    const begun = async () => (await jobs("mark")).filter(({ state }) => state === "succeeded").length > 20;
    expect(await waitUntil(begun, patienceMs)).toBe(true);
    leader.kill("SIGKILL");
    const rows = await finished("mark");
    expect(rows.map(({ state, result }) => [state, result])).toEqual(payloads.map(({ n }) => ["succeeded", 2 * n]));
    expect(await successes("mark")).toBe(payloads.length);
    agent.kill("SIGTERM");
    expect(await agent.exited).toEqual({ code: 0, signal: null });
  });
});
