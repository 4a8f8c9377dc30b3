import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createJobs, type Jobs } from "../../src/jobs.js";
import { type RunningServer, startServer } from "../../src/server/serve.js";
import { waitUntil } from "../../src/store/embedded/wait-until.js";
import { runHere } from "../support/command.js";
import { calm, clusterNode } from "../support/election.js";
import { freePort } from "../support/free-ports.js";
import { type LocalNode, startLocalNode } from "../support/local-node.js";
import { createTestDatabase, type TestDatabase } from "../support/postgres.js";

describe("the commands of jobs", () => {
  let database: TestDatabase;
  let local: LocalNode;
  let server: RunningServer;
  let jobs: Jobs;
  const stopped = new AbortController();

  beforeAll(async () => {
    database = await createTestDatabase();
    const port = await freePort();
    local = await startLocalNode({
      ...clusterNode(database.url, "a", calm),
      api: { port, publicUrl: `http://127.0.0.1:${port}` },
    });
    jobs = createJobs(local.node);
    server = await startServer(local.node);
    await waitUntil(() => Promise.resolve(jobs.isOpen), 10_000);
  });

  afterAll(async () => {
    stopped.abort();
    await server?.close();
    await local?.node.close();
    await database?.[Symbol.asyncDispose]();
  });

  const run = async (...args: readonly string[]) => await runHere(["jobs", ...args, "--url", server.url]);
  const take = async (namespace: string) => {
    const wish = { agent: "agent-1", namespace, capabilities: [], maxTasks: 1 };
    const lease = await jobs.lease(wish, 10_000, stopped.signal);
    if (lease.kind !== "leased") throw new Error("nothing was leased");
    const [task] = lease.tasks;
    return { leaseId: lease.leaseId, jobId: task?.jobId ?? "", jobEpoch: task?.jobEpoch ?? 0, agent: "agent-1" };
  };

  it("submit, list, show, cancel and redrive", async () => {
    const submitted = await run("submit", "resize", "--payload", '{"width":3}', "--job-id", "one", "--priority", "3");
    expect(submitted).toMatchObject({ code: 0, stdout: "Job one is queued.\n" });
    const listed = await run("list", "--op", "resize");
    expect(listed.stdout).toMatch(/^job +op +state/);
    expect(listed.stdout).toMatch(/\none +resize +queued +0\/5 /);
    expect(JSON.parse((await run("list", "--json")).stdout)).toMatchObject({ items: [{ job_id: "one", priority: 3 }] });
    expect((await run("show", "one")).stdout).toMatch(/state +queued/);
    expect((await run("cancel", "one")).stdout).toBe("Job one is cancelled now.\n");
    expect((await run("redrive", "one")).stdout).toBe("Job one is queued now.\n");
    expect(await run("redrive", "one")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("queued") as string,
    });
    expect(await run("show", "none")).toMatchObject({ code: 1, stderr: expect.stringContaining("none") as string });
  });

  it("submit --wait shows how far the job is, prints its result, and exits with 0", async () => {
    await jobs.submit([{ op: "count", namespace: "waiting", jobId: "two" }]);
    const task = await take("waiting");
    await jobs.renew("agent-1", task.leaseId, [{ jobId: "two", progress: { done: 0.5 } }]);
    const waiting = run("submit", "count", "--namespace", "waiting", "--job-id", "two", "--wait");
    // It has looked once, and waits for the end.
    await waitUntil(() => Promise.resolve(jobs.events.listeners > 0), 10_000);
    await jobs.report([{ ...task, outcome: { status: "succeeded", result: { total: 9 } } }]);
    const { code, stdout, stderr } = await waiting;
    expect({ code, stdout }).toEqual({ code: 0, stdout: '{"total":9}\n' });
    expect(stderr).toContain('two is leased by agent-1 (attempt 1 of 5), progress {"done":0.5}');
    expect(stderr).toContain("two has succeeded with agent-1");
  });

  it("submit --wait exits with 1 where the job failed, or took too long", async () => {
    const waiting = run("submit", "count", "--namespace", "failing", "--wait", "--json");
    const task = await take("failing");
    await jobs.report([{ ...task, outcome: { status: "failed", error: "no such file", retry: false } }]);
    const failed = await waiting;
    expect(failed.code).toBe(1);
    expect(JSON.parse(failed.stdout)).toMatchObject({ state: "failed", error: "no such file" });
    const late = await run("submit", "count", "--namespace", "nobody", "--wait", "--within", "50ms");
    expect(late).toMatchObject({ code: 1, stderr: expect.stringContaining("is still queued after") as string });
  });

  it.each([
    [["submit", "x", "--payload", "text"], "not JSON"],
    [["submit", "x", "--payload", "1", "--payload-file", "f"], "one payload"],
    [["submit", "x", "--payload-file", "/no/such/file"], "cannot be read"],
    [["submit", "x", "--priority", "4"], "0, 1, 2 or 3"],
    [["submit", "two words"], "op"],
    [["list", "--state", "lost"], "queued"],
    [["list", "--since", "soon"], "since"],
  ])("%j is refused with a line that says why, and exit code 2", async (args, why) => {
    const { code, stderr } = await run(...args);
    expect(code).toBe(2);
    expect(stderr.trim().split("\n")).toHaveLength(1);
    expect(stderr).toContain(why);
  });
});
