import { describe, test } from "vitest";
import { eventually, heirWaits, nextLeader } from "../examples/example-process.js";
import { blocksOf, Guide, patience } from "../support/guide.js";
import { createTestDatabase, rowsOf } from "../support/postgres.js";
import type { StartedProgram } from "../support/started-program.js";

const block = blocksOf("one-replica-acts");

/** The epochs of the lines that a program printed like this. */
function epochsOf(program: StartedProgram, pattern: RegExp): readonly number[] {
  return program.lines.flatMap((line) => line.match(pattern)?.slice(1, 2).map(Number) ?? []);
}

describe.concurrent("make one replica act", patience, () => {
  test("of three senders one works; another goes on when it is killed, and the last when that one is told to stop", async ({
    expect,
  }) => {
    await using database = await createTestDatabase();
    await using guide = await Guide.open("one-replica-acts", { DATABASE_URL: database.url });
    const sender = "sender.mjs";
    await using first = await guide.start(sender);
    await using second = await guide.start(sender);
    await using third = await guide.start(sender);
    const all = [first, second, third];

    const killed = await nextLeader(all);
    await killed.replica.line(/^round 2 /);
    await heirWaits(database.url);
    await killed.replica.end("SIGKILL");
    const rest = all.filter((one) => one !== killed.replica);
    const stopped = await nextLeader(rest, killed.epoch);
    await stopped.replica.line(new RegExp(`^round 1 under epoch ${stopped.epoch}$`));
    expect(await stopped.replica.end("SIGTERM")).toEqual({ code: 0, signal: null });
    const last = await nextLeader(
      rest.filter((one) => one !== stopped.replica),
      stopped.epoch,
    );
    await last.replica.line(/^round 1 /);

    // Each epoch's rounds were printed by one replica alone.
    const round = /^round \d+ under epoch (\d+)$/;
    expect(all.map((one) => new Set(epochsOf(one, round)))).toEqual(
      all.map(
        (one) => new Set([killed, stopped, last].flatMap(({ replica, epoch }) => (replica === one ? epoch : []))),
      ),
    );
    const reasons = await rowsOf<{ reason: string }>(
      database.url,
      "select reason from holdfast.history where role = 'sender' and event = 'elected' order by epoch",
    );
    expect(reasons.map(({ reason }) => reason)).toEqual(["first", "evidence", "released"]);
  });

  test("a cron of three replicas makes one job of each tick, also over a kill of its leader", async ({ expect }) => {
    await using database = await createTestDatabase();
    await using guide = await Guide.open("one-replica-acts", { DATABASE_URL: database.url });
    const report = "report.mjs";
    const programs = new Map<number, StartedProgram>();
    await using first = await guide.start(report);
    await using second = await guide.start(report);
    await using third = await guide.start(report);
    for (const program of [first, second, third]) programs.set(program.pid, program);
    const printed = () =>
      [...programs.values()].flatMap(({ lines }) => lines.filter((line) => line === "a report of 3 pages"));
    const atLeast = async (count: number) =>
      await eventually(
        () => (printed().length >= count ? true : undefined),
        () => `only ${printed().length} reports:\n${[...programs.values()].flatMap(({ lines }) => lines).join("\n")}`,
      );
    await atLeast(2);
    await heirWaits(database.url);
    const [leader] = await rowsOf<{ pid: number }>(
      database.url,
      "select n.pid from holdfast.leases l join holdfast.nodes n on n.node_id = l.holder where l.role = 'scheduler'",
    );
    await programs.get(leader?.pid ?? 0)?.end("SIGKILL");
    await atLeast(printed().length + 2);

    const prints = printed().length;
    const ticks = await rowsOf<{ tick: string; jobs: number; leases: number }>(
      database.url,
      "select tick::text, count(*)::int as jobs, sum(job_epoch)::int as leases from holdfast.jobs group by 1",
    );
    expect(ticks.length).toBeGreaterThanOrEqual(4);
    expect(ticks.filter(({ jobs }) => jobs !== 1)).toEqual([]);
    // One replica printed each: a job is run once for each lease of it.
    expect(prints).toBeLessThanOrEqual(ticks.reduce((sum, { leases }) => sum + leases, 0));
  });

  test("a replica sees who leads, as the guide says", async ({ expect }) => {
    await using database = await createTestDatabase();
    await using guide = await Guide.open("one-replica-acts", { DATABASE_URL: database.url });
    const seen = `
      const told = poller.leader();
      poller.on("elected", ({ epoch, reason }) => console.log("elected", epoch, reason, Object.keys(poller.leader()).join(", ")));
      console.log("before", told);`;
    const text = [block("poller.mjs").text, block("see").text, seen].join("\n");
    await using program = await guide.project.start({ ...block("poller.mjs"), text });
    await program.line(/^before null$/);
    const [, keys] = await program.line(/^elected 1n? first (.*)$/);
    expect(block("see").text).toContain(`{ ${keys} }`);
  });

  test("a poller that was frozen until another took over polls no more when it wakes", async ({ expect }) => {
    await using database = await createTestDatabase();
    await using guide = await Guide.open("one-replica-acts", { DATABASE_URL: database.url });
    const poller = {
      ...block("poller.mjs"),
      text: [block("poller.mjs"), block("see")].map(({ text }) => text).join("\n"),
    };
    await using first = await guide.project.start(poller);
    const polling = /^polling under epoch (\d+)$/;
    const [, epoch = ""] = await first.line(polling);
    await using second = await guide.project.start(poller);
    await heirWaits(database.url);
    const leaders = await rowsOf<{ role: string; epoch: string }>(database.url, block("leaders.sql").text);
    expect(leaders).toEqual([expect.objectContaining({ role: "poller", epoch })]);
    first.signal("SIGSTOP");
    const [, next = ""] = await second.line(polling);
    expect(Number(next)).toBeGreaterThan(Number(epoch));
    const before = epochsOf(first, polling).length;
    first.signal("SIGCONT");
    await first.line(/"role":"poller".*(superseded|trust_ran_out|expired)/);
    expect(epochsOf(first, polling)).toHaveLength(before);
    expect(await first.end("SIGTERM")).toEqual({ code: 0, signal: null });
    expect(await second.end("SIGTERM")).toEqual({ code: 0, signal: null });
  });
});
