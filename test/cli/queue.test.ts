import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createQueue, type Queue } from "../../src/queue/queue.js";
import { type RunningServer, startServer } from "../../src/server/serve.js";
import { waitUntil } from "../../src/store/embedded/wait-until.js";
import { type CommandResult, runHere } from "../support/command.js";
import { calm, clusterNode } from "../support/election.js";
import { freePort } from "../support/free-ports.js";
import { type LocalNode, startLocalNode } from "../support/local-node.js";
import { createTestDatabase, type TestDatabase } from "../support/postgres.js";

/** A node with the queue, serving on a port of its own. */
async function startServing(url: string, id: string) {
  const port = await freePort();
  const api = { port, publicUrl: `http://127.0.0.1:${port}` };
  const local = await startLocalNode({ ...clusterNode(url, id, calm), api });
  const queue = createQueue(local.node, {
    role: "scheduler",
    name: "orders",
    stages: ["ingress", "outbound"],
    policy: "block",
    maxAttempts: 1,
  });
  return { local, queue, server: await startServer(local.node) };
}

describe("the commands of the queue", () => {
  let database: TestDatabase;
  let leader: { local: LocalNode; queue: Queue; server: RunningServer };
  let standby: typeof leader;
  let broken = true;
  const done: string[] = [];

  beforeAll(async () => {
    database = await createTestDatabase();
    leader = await startServing(database.url, "a");
    const open = async () =>
      await leader.queue.enqueue({ lane: "same", body: "1" }).then(
        () => true,
        () => false,
      );
    await waitUntil(open, 10_000);
    standby = await startServing(database.url, "b");
    leader.queue.process("ingress", async ({ lane, body }) => {
      if (lane === "a/b" && broken) throw new Error("no such account");
      await Promise.resolve(void done.push(`${lane} ${body.toString()}`));
    });
    await leader.queue.enqueueMany([
      { lane: "a/b", body: "1" },
      { lane: "a/b", body: "2" },
      { lane: "same", stage: "outbound", body: "1" },
    ]);
    const isBlocked = async () => (await leader.queue.lanes()).some(({ blocked }) => blocked);
    await waitUntil(isBlocked, 10_000);
  });

  afterAll(async () => {
    for (const each of [standby, leader]) {
      await each?.server.close();
      await each?.local.node.close();
    }
    await database?.drop();
  });

  const at = async ({ server }: typeof leader, ...args: readonly string[]): Promise<CommandResult> =>
    await runHere(["queue", ...args], { env: { HOLDFAST_URL: server.url } });

  const saidBy = async (...args: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await at(standby, ...args);
    expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: "" });
    return stdout;
  };

  it("lanes is a table of what holds each of them up", async () => {
    const [title, ...rows] = (await saidBy("lanes")).trimEnd().split("\n");
    expect(title).toMatch(/^queue +stage +lane +state +depth +oldest +failed +crashes +last error$/);
    expect(rows).toHaveLength(3);
    expect(rows.join("\n")).toMatch(/^orders +ingress +a\/b +blocked +2 +[\d.]+ m?s +1 +0 +no such account$/m);
    expect((await saidBy("lanes", "--stage", "outbound", "--state", "ready")).trimEnd().split("\n")).toHaveLength(2);
    expect(await saidBy("lanes", "--queue", "none")).toBe("There is no such lane.\n");
    expect(await saidBy("lanes", "--limit", "1")).toMatch(/\nThese are the first 1: --limit takes up to 1000\.\n$/);
    const { items } = JSON.parse(await saidBy("lanes", "--state", "blocked", "--json")) as { items: object[] };
    expect(items).toMatchObject([{ lane: "a/b", depth: 2 }]);
  });

  it("pause and resume steer the lane that is meant", async () => {
    const asked = await at(standby, "pause", "same");
    expect(asked.code).toBe(2);
    expect(asked.stderr).toMatch(
      /^holdfast: There are several lanes "same": add --queue orders --stage ingress, or --queue orders --stage outbound\. \[INVALID_REQUEST\]\n$/,
    );
    const paused = await saidBy("pause", "same", "--stage", "outbound");
    expect(paused).toBe("orders outbound same is paused, with 1 not finished.\n");
    const resumed = JSON.parse(await saidBy("resume", "same", "--stage", "outbound", "--json")) as object;
    expect(resumed).toMatchObject({ lane: "same", stage: "outbound", state: "ready" });
    const unknown = await at(standby, "pause", "nowhere");
    expect(unknown).toMatchObject({ code: 1, stderr: 'holdfast: There is no lane "nowhere". [NOT_FOUND]\n' });
  });

  it("skip puts the head aside, dead-letters shows it, and redrive takes it in again, on the leader", async () => {
    expect(await saidBy("dead-letters")).toBe("There is no such dead letter.\n");
    broken = false;
    expect(await saidBy("skip", "a/b")).toMatch(
      /^orders ingress a\/b is (ready|in flight|idle), with [01] not finished\.\n$/,
    );
    await expect.poll(() => done).toContain("a/b 2");
    const refused = await at(standby, "skip", "a/b");
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(/is not blocked.*\[REFUSED\]\n$/);

    const [title, row] = (await saidBy("dead-letters", "--lane", "a/b")).split("\n");
    expect(title).toMatch(/^ *id +queue +stage +lane +died +redriven +failed +bytes +reason$/);
    expect(row).toMatch(/^ *\d+ +orders +ingress +a\/b +(just now|[\d.]+ m?s ago) +- +1 +1 +no such account$/);
    const { items } = JSON.parse(await saidBy("dead-letters", "--json")) as { items: { id: string }[] };
    const id = items[0]?.id ?? "";

    const elsewhere = await at(standby, "redrive", id);
    expect(elsewhere.code).toBe(3);
    const { url } = leader.server;
    expect(elsewhere.stderr).toBe(
      `holdfast: This node does not lead; "a" does, at ${url}: use --url ${url}. [NOT_LEADER]\n`,
    );
    expect(await at(leader, "redrive", id)).toEqual({
      code: 0,
      stdout: `Dead letter ${id} is number 3 of orders ingress a/b now.\n`,
      stderr: "",
    });
    await expect.poll(() => done).toContain("a/b 1");
    const again = await at(leader, "redrive", id, "--json");
    expect(again.code).toBe(1);
    expect(again.stderr).toMatch(/was redriven at .*\[REFUSED\]\n$/);
    expect((await at(leader, "redrive", "999")).stderr).toMatch(/There is no dead letter "999".*\[NOT_FOUND\]\n$/);
  });

  it.each([
    [["lanes", "--state", "odd"], 2],
    [["lanes", "--limit", "0"], 2],
    [["lanes", "--queue", "A B"], 2],
    [["pause"], 2],
    [["redrive"], 2],
  ])("%j is called wrongly, and says so in one line", async (args, code) => {
    const failed = await at(standby, ...args);
    expect(failed.code).toBe(code);
    expect(failed.stdout).toBe("");
    expect(failed.stderr).toMatch(/^holdfast: [^\n]+ \[(USAGE|INVALID_REQUEST)\]\n$/);
  });
});
