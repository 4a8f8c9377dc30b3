import { beforeEach, describe, expect, it } from "vitest";
import { StaleEpochError } from "../../src/errors.js";
import type { Submission } from "../../src/store/job-orders.js";
import { createTestDatabase, withClient } from "../support/postgres.js";
import { memoryHarness, Player, postgresHarness } from "./harness.js";
import { eventsOf, heartbeat, JobLeader, leaseOrder, openJobsForEach, result, submission } from "./job-leader.js";

const size = 40;

/** So many that nobody has submitted before, as a request brings them: `name-1`, `name-2` ... */
function many(name: string, rest: (n: number) => Partial<Submission> = () => ({})): readonly Submission[] {
  return Array.from({ length: size }, (_, n) => submission(`${name}-${n + 1}`, { hasNewId: true, ...rest(n) }));
}

const idsOf = (jobs: readonly Submission[]): readonly string[] => jobs.map(({ jobId }) => jobId);

/** Many jobs at a time take another way in than a few. Whichever it is, they are what they would have been one by one. */
describe.each([
  ["memory", memoryHarness],
  ["postgres", postgresHarness],
] as const)("many jobs at a time, in the %s store", (_name, makeHarness) => {
  let player: Player;
  let leader: JobLeader;

  openJobsForEach(makeHarness, (opened) => {
    ({ player, leader } = opened);
  });

  beforeEach(async () => {
    // What jobs ask for is known from here on.
    await leader.do(submission("known", { namespace: "other" }), ...many("first"));
  });

  it("are numbered, counted and told of like those before and after them", async () => {
    const jobs = many("next");
    expect(await leader.do(...jobs)).toEqual(
      jobs.map(({ jobId }) => ({ kind: "created", jobId, jobEpoch: 0, state: "queued", same: true })),
    );
    await leader.submit("last");
    const numbers = await Promise.all(["first-40", "next-1", "next-40", "last"].map((id) => leader.book.job(id)));
    expect(numbers.map((job) => job?.n)).toEqual([41, 42, 81, 82]);
    expect(await leader.book.standing()).toMatchObject({ submitted: 82, counts: { queued: 82 } });
    const told = ["known", ...idsOf(many("first")), ...idsOf(jobs), "last"].map((id) => `job.queued ${id}`);
    expect(await eventsOf(leader.book)).toEqual(told);
  });

  it("keep all that was said of them", async () => {
    const payloads = [null, "text", 1.5, [true, { deep: ["ü", "😀", '"\\', "\u0001"] }], {}, "x".repeat(5_000)];
    const rest = (n: number): Partial<Submission> => ({
      payload: payloads[n % payloads.length] ?? null,
      op: n % 2 === 0 ? "even" : "odd",
      priority: n % 4,
      timeoutMs: 1_000 + n,
      maxAttempts: 1 + n,
    });
    await leader.do(...many("warm", rest));
    const jobs = many("kept", rest);
    await leader.do(...jobs);
    for (const { jobId, hasNewId: _, kind: __, runAt: ___, ...said } of jobs)
      expect(await leader.book.job(jobId)).toMatchObject({ ...said, state: "queued", attempts: 0, waitsUntil: null });
  });

  it("are handed out by priority and in their order, each to whom it suits", async () => {
    const rest = (n: number): Partial<Submission> => ({
      priority: n === 7 ? 3 : 1,
      capabilities: n === 8 ? ["gpu", "big"] : [],
      pinnedAgent: n === 9 ? "bob" : null,
      namespace: n === 10 ? "other" : "default",
    });
    await leader.do(...many("warm", rest));
    const earlier = await leader.takeIds("l0");
    await leader.takeIds("l00", { agent: "bob", capabilities: ["big", "gpu"] });
    expect(earlier).toHaveLength(64);
    const jobs = many("picked", rest);
    const plain = idsOf(jobs).filter((_id, n) => ![7, 8, 9, 10].includes(n));
    const [answer] = (await leader.do(leaseOrder("l1"), ...jobs)) as readonly { tasks?: { jobId: string }[] }[];
    expect(answer?.tasks?.map(({ jobId }) => jobId)).toEqual(["picked-8", ...plain]);
    expect(await leader.takeIds("l2", { agent: "bob", capabilities: ["big", "gpu"] })).toEqual([
      "picked-9",
      "picked-10",
    ]);
    expect(await leader.takeIds("l3", { namespace: "other" })).toEqual(["known", "warm-11", "picked-11"]);
  });

  it("go with orders of every other kind, each answered in its place", async () => {
    await leader.do(leaseOrder("l1", { maxTasks: 3 }), { kind: "cancel", jobId: "first-9" });
    const jobs = many("next");
    const answers = await leader.do(
      heartbeat("ann"),
      ...jobs,
      result("first-1", 1),
      { kind: "cancel", jobId: "next-1" },
      { kind: "redrive", jobId: "first-9" },
      { kind: "renew", leaseId: "l1", agent: "ann", ttlMs: 60_000, progress: [] },
      { kind: "give_back", agent: "ann", leaseId: "l1", jobIds: ["first-2"] },
      { kind: "remove_agent", agent: "nobody" },
      leaseOrder("l2", { maxTasks: 2 }),
    );
    expect([answers[0], ...answers.slice(size + 1)]).toMatchObject([
      { kind: "seen" },
      { kind: "accepted", state: "succeeded" },
      { kind: "unknown" }, // It is submitted after the cancellations.
      { kind: "redriven" },
      { kind: "renewed", jobIds: ["first-2", "first-3"] },
      { kind: "given_back", jobIds: ["first-2"] },
      { kind: "unknown" },
      { kind: "leased", tasks: [{ jobId: "first-2" }, { jobId: "first-4" }] },
    ]);
    expect(answers.slice(1, size + 1).every(({ kind }) => kind === "created")).toBe(true);
  });

  it("are there once where the same is asked for again, and each answer says so", async () => {
    const orders = [...many("again"), leaseOrder("l1", { maxTasks: 50 })];
    const first = await leader.do(...orders);
    const look = async () => [(await leader.book.standing()).counts, await eventsOf(leader.book)];
    const before = await look();
    const second = await leader.do(...orders);
    expect(second.at(-1)).toEqual(first.at(-1));
    expect(second.slice(0, size)).toMatchObject(
      many("again").map(({ jobId }) => ({ kind: "existing", jobId, same: true })),
    );
    expect(await look()).toEqual(before);
    await leader.do(...many("next"));
    expect(await leader.book.job("next-1")).toMatchObject({ n: 82 + size });
  });

  it("leave nothing behind where the epoch is over, not even a gap in the numbers", async () => {
    await player.release(leader.fence.epoch);
    const next = await JobLeader.elect(player);
    await expect(leader.do(...many("late"))).rejects.toBeInstanceOf(StaleEpochError);
    await next.do(...many("next"));
    expect(await next.book.job("late-1")).toBeNull();
    expect(await next.book.job("next-1")).toMatchObject({ n: 42 });
    expect(await eventsOf(next.book)).toHaveLength(1 + 2 * size);
  });
});

describe("many jobs in a database that lost its last commits", () => {
  it("are put where they belong, whatever the leader remembers of it", async () => {
    await using database = await createTestDatabase();
    await using harness = await postgresHarness({ database, url: database.url });
    const player = await Player.join(harness, "a");
    const leader = await JobLeader.elect(player);
    await leader.do(...many("first"));
    await withClient(database.url, async (client) => {
      await client.query("delete from holdfast.jobs");
      await client.query("update holdfast.job_demands set namespace = 'other'");
    });
    await leader.do(...many("next"));
    expect(await leader.takeIds("l1", { namespace: "other" })).toEqual([]);
    expect(await leader.takeIds("l2")).toEqual(idsOf(many("next")));
    player.crash();
  });
});

describe("jobs that cannot be written down", () => {
  it("are refused, few or many: the database is not taken to be away, or they would be tried for ever", async () => {
    await using harness = await postgresHarness();
    const player = await Player.join(harness, "a");
    const leader = await JobLeader.elect(player);
    await leader.do(...many("first"));
    const payload = { n: 1n } as never;
    const refusal = expect.objectContaining({ code: "DATABASE_REFUSED" }) as Error;
    await expect(leader.submit("one", { payload })).rejects.toEqual(refusal);
    await expect(leader.do(...many("next", () => ({ payload })))).rejects.toEqual(refusal);
    expect(await leader.book.standing()).toMatchObject({ submitted: size });
    player.crash();
  });
});
