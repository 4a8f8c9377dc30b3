import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { run as runProgram } from "../../src/cli/run.js";
import type { CronAnswer } from "../../src/server/cron-answers.js";
import { type RunningServer, startServer } from "../../src/server/serve.js";
import { waitUntil } from "../../src/store/embedded/wait-until.js";
import { type CommandResult, runHere } from "../support/command.js";
import { calm, clusterNode } from "../support/election.js";
import { FakeCommandLine } from "../support/fake-command-line.js";
import { freePort } from "../support/free-ports.js";
import { type LocalNode, startLocalNode } from "../support/local-node.js";
import { createTestDatabase, type TestDatabase } from "../support/postgres.js";

/** Far away, so that no tick comes while the test runs. */
const yearly = { schedule: "0 2 29 2 *", timeZone: "Europe/Berlin", op: "report" } as const;
const crons = [
  { ...yearly, name: "yearly" },
  { ...yearly, name: "other", missed: "catch_up" },
  { ...yearly, name: "steered" },
] as const;

async function startServing(url: string, id: string) {
  const port = await freePort();
  const api = { port, publicUrl: `http://127.0.0.1:${port}` };
  const local = await startLocalNode({ ...clusterNode(url, id, calm), api });
  for (const cron of crons) local.node.crons.define(cron);
  return { local, server: await startServer(local.node) };
}

describe("the commands of crons", () => {
  let database: TestDatabase;
  let leader: { local: LocalNode; server: RunningServer };
  let standby: typeof leader;

  beforeAll(async () => {
    database = await createTestDatabase();
    leader = await startServing(database.url, "a");
    const areDefined = async () => (await leader.local.node.crons.list()).length === crons.length;
    await waitUntil(areDefined, 10_000);
    await waitUntil(() => Promise.resolve(leader.local.node.jobs.isOpen), 10_000);
    standby = await startServing(database.url, "b");
  });

  afterAll(async () => {
    for (const each of [standby, leader]) {
      await each?.server.close();
      await each?.local.node.close();
    }
    await database?.drop();
  });

  const at = async ({ server }: typeof leader, ...args: readonly string[]): Promise<CommandResult> =>
    await runHere(["crons", ...args], { env: { HOLDFAST_URL: server.url } });

  const saidBy = async (...args: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await at(leader, ...args);
    expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: "" });
    return stdout;
  };

  it("list is a table of when each of them fires, on any node", async () => {
    const { code, stdout } = await at(standby, "list");
    expect(code).toBe(0);
    const [title, ...rows] = stdout.trimEnd().split("\n");
    expect(title).toMatch(/^cron +state +schedule +time zone +op +next +missed +from$/);
    expect(rows.map((row) => row.split(" ")[0])).toEqual(["other", "steered", "yearly"]);
    expect(rows[0]).toMatch(/^other +active +0 2 29 2 \* +Europe\/Berlin +report +in \d+ d.* +catch_up +code$/);
    expect(await saidBy("list", "--limit", "1")).toMatch(/\nThese are the first 1: --limit takes up to 1000\.\n$/);
    const { items } = JSON.parse(await saidBy("list", "--json")) as { items: CronAnswer[] };
    expect(items[2]).toMatchObject({ name: "yearly", time_zone: "Europe/Berlin", paused: false, source: "code" });
  });

  it.each([40, 60, 80, 120])("list fits a terminal of %i columns", async (columns) => {
    const cli = new FakeCommandLine({ isTTY: true, columns, env: { HOLDFAST_URL: leader.server.url, NO_COLOR: "1" } });
    expect(await runProgram(["crons", "list"], cli)).toBe(0);
    const lines = cli.written.trimEnd().split("\n");
    expect(lines).toHaveLength(4);
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(columns);
  });

  it("trigger submits a job of each, and history tells of it", async () => {
    expect(await saidBy("history", "yearly")).toBe("No tick has come yet.\n");
    const told = await saidBy("trigger", "yearly");
    const [, jobId = ""] = /^Cron yearly was triggered: its job is (\S+)\.\n$/.exec(told) ?? [];
    expect(await leader.local.node.jobs.book.job(jobId)).toMatchObject({ op: "report", cron: "yearly" });
    const { stdout } = await at(standby, "history", "yearly");
    const [title, ...rows] = stdout.trimEnd().split("\n");
    expect(title).toMatch(/^tick +became +job +missed +late by$/);
    expect(rows).toEqual([expect.stringMatching(new RegExp(`^[\\d-]+ [\\d:]+ +triggered +${jobId} +0 +-$`))]);
    expect(JSON.parse(await saidBy("history", "yearly", "--json"))).toMatchObject({
      items: [{ kind: "triggered", job_id: jobId }],
      next_cursor: null,
    });
  });

  it("pause lets it rest, and resume lets it go on", async () => {
    expect(await saidBy("pause", "steered")).toBe(
      'Cron steered is paused; "holdfast crons resume steered" lets it go on.\n',
    );
    expect(await saidBy("list")).toMatch(/^steered +paused .* - +coalesce/m);
    expect(await saidBy("resume", "steered")).toMatch(
      /^Cron steered goes on: its next tick is at \d{4}-\d\d-\d\d \d\d:\d\d:00 \(in \d+ d.*\)\.\n$/,
    );
    expect(JSON.parse(await saidBy("pause", "steered", "--json"))).toMatchObject({ items: [{ paused: true }] });
    expect(JSON.parse(await saidBy("resume", "steered", "--json"))).toMatchObject({ items: [{ paused: false }] });
  });

  it("tell what was done where a later one is refused, also with --json", async () => {
    const refused = { code: 1, stderr: expect.stringContaining('There is no cron "nobody".') as string };
    const told = await at(leader, "trigger", "other", "nobody", "yearly");
    expect(told).toMatchObject({ ...refused, stdout: expect.stringMatching(/^Cron other was .*\n$/) as string });
    const json = await at(leader, "trigger", "other", "nobody", "--json");
    expect(json).toMatchObject(refused);
    expect(JSON.parse(json.stdout)).toMatchObject({ items: [{ name: "other" }] });
    expect(await at(leader, "history", "nobody")).toMatchObject({ ...refused, stdout: "" });
  });

  it.each(["trigger", "pause", "resume"])(
    "%s at a node that does not lead names the leader, exit code 3",
    async (act) => {
      await waitUntil(() => Promise.resolve(standby.local.node.posture("scheduler").leaderId === "a"), 10_000);
      const { code, stdout, stderr } = await at(standby, act, "yearly");
      expect({ code, stdout }).toEqual({ code: 3, stdout: "" });
      expect(stderr).toContain(`use --url http://127.0.0.1:${new URL(leader.server.url).port}`);
    },
  );

  it.each([
    [["trigger"], "name"],
    [["pause", "two words"], "name"],
    [["list", "--limit", "0"], "whole number"],
    [["list", "yearly"], "too many arguments"],
  ])("%j is refused with a line that says why, and exit code 2", async (args, why) => {
    const { code, stderr } = await at(leader, ...args);
    expect(code).toBe(2);
    expect(stderr.trim().split("\n")).toHaveLength(1);
    expect(stderr).toContain(why);
  });
});
