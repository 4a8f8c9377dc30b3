import { describe, expect, it } from "vitest";
import { submission, wish } from "../../test/support/job-scene.js";
import { DrainingError } from "../errors.js";
import type { LeaseAnswer, Task } from "../store/job-orders.js";
import { TestClock } from "../testing.js";
import { LeasePolls } from "./lease-polls.js";

/** A signal of its own for everybody who waits. */
const never = (): AbortSignal => new AbortController().signal;
const work = (leaseId: string): LeaseAnswer => ({
  kind: "leased",
  leaseId,
  expiresAt: 1,
  tasks: [{ jobId: "job" } as Task],
});

function scene() {
  const clock = new TestClock();
  const polls = new LeasePolls(clock, 60_000);
  const asked = (...demands: Parameters<LeasePolls["next"]>[0]): readonly string[] =>
    polls.next(demands).map(({ order }) => order.agent);
  /** The same, and nothing is there for any of them. */
  const askedInVain = (...demands: Parameters<LeasePolls["next"]>[0]): readonly string[] => {
    const taken = polls.next(demands);
    for (const poll of taken) polls.answered(poll, { kind: "none" });
    return taken.map(({ order }) => order.agent);
  };
  /** One that was asked for, and for whom nothing was there. */
  const rest = (agent: string, given: Parameters<typeof wish>[1] = {}) => {
    const answer = polls.add(wish(agent, given), 30_000, never());
    answer.catch(() => undefined);
    for (const poll of polls.next([])) polls.answered(poll, { kind: "none" });
    return answer;
  };
  return { clock, polls, asked, askedInVain, rest };
}

describe("agents that wait for work", () => {
  it("are asked for once when they come, and then rest", () => {
    const { asked, rest } = scene();
    void rest("one");
    expect(asked()).toEqual([]);
  });

  it("are not asked for again when they come back, until something may be there for them", async () => {
    const { clock, polls, asked, rest } = scene();
    const answer = rest("one");
    await clock.advance(30_000);
    expect(await answer).toEqual({ kind: "none" });
    const back = (): void => void polls.add(wish("one"), 30_000, never());
    back();
    expect(asked()).toEqual([]);
    expect(asked(submission("a"))).toEqual(["one"]);
    back();
    expect(asked()).toEqual(["one"]);
  });

  it("are asked for again where something came free while they were", () => {
    const { polls, asked } = scene();
    void polls.add(wish("one"), 30_000, never());
    const [poll] = polls.next([]);
    polls.stir();
    if (poll !== undefined) polls.answered(poll, { kind: "none" });
    expect(asked()).toEqual(["one"]);
    void polls.add(wish("one"), 30_000, never());
    expect(asked()).toEqual(["one"]);
  });

  it("are asked for by one transaction at a time: what is on its way for them is waited for", () => {
    const { polls, asked } = scene();
    void polls.add(wish("one"), 30_000, never());
    const [poll] = polls.next([]);
    expect(asked(submission("a"))).toEqual([]);
    polls.stirFor([submission("a")]);
    expect(asked()).toEqual([]);
    if (poll !== undefined) polls.answered(poll, { kind: "none" });
    expect(asked()).toEqual(["one"]);
  });

  it("are told at once where they do not want to wait and nothing has come", async () => {
    const { clock, polls, rest } = scene();
    void rest("one");
    const answer = polls.add(wish("one"), 0, never());
    await clock.advance(0);
    expect(await answer).toEqual({ kind: "none" });
  });

  it("are woken by a job that suits them, the least loaded first, and of equals the longest waiting", () => {
    const { askedInVain, rest } = scene();
    void rest("one");
    void rest("two", { maxTasks: 2 });
    void rest("other", { namespace: "other" });
    void rest("able", { capabilities: ["gpu"] });
    expect(askedInVain(submission("a", { capabilities: ["gpu"] }))).toEqual(["able"]);
    expect(askedInVain(submission("a", { pinnedAgent: "two" }))).toEqual(["two"]);
    expect(askedInVain(submission("a"), submission("b"), submission("c"))).toEqual(["one", "two", "able"]);
    expect(askedInVain(submission("a", { namespace: "nowhere" }))).toEqual([]);
  });

  it("ask for their share of the jobs that come together, and for all they have room for when anything may be there", () => {
    const { polls, rest } = scene();
    void rest("one", { maxTasks: 4 });
    void rest("two", { maxTasks: 3, load: { running: 1, places: 4 } });
    const shares = (asked: readonly { readonly order: { agent: string; maxTasks: number } }[]) =>
      Object.fromEntries(asked.map(({ order }) => [order.agent, order.maxTasks]));
    const first = polls.next(["a", "b", "c"].map((id) => submission(id)));
    expect(shares(first)).toEqual({ one: 2, two: 1 });
    for (const poll of first) polls.answered(poll, { kind: "none" });
    polls.stir();
    expect(shares(polls.next([]))).toEqual({ one: 4, two: 3 });
  });

  it("are looked after in the order of their loads where something came free", () => {
    const { polls, asked, rest } = scene();
    void rest("busy", { load: { running: 3, places: 4 } });
    void rest("free", { load: { running: 0, places: 4 } });
    polls.stir();
    expect(asked()).toEqual(["free", "busy"]);
  });

  it("have the id that they chose, so that the same can be asked again", () => {
    const { polls } = scene();
    void polls.add(wish("one", { leaseId: "mine" }), 30_000, never());
    expect(polls.next([]).map(({ order }) => order.leaseId)).toEqual(["mine"]);
  });

  it("are all looked after when something came free, and only those whom it suits when it is known what", () => {
    const { polls, askedInVain, rest } = scene();
    void rest("one");
    void rest("other", { namespace: "other" });
    polls.stir();
    expect(askedInVain()).toEqual(["one", "other"]);
    polls.stirFor([submission("a", { namespace: "other" })]);
    expect(askedInVain()).toEqual(["other"]);
  });

  it("come in turns where there are many", () => {
    const { polls, asked } = scene();
    for (let n = 0; n < 300; n += 1) void polls.add(wish(`agent-${n}`), 30_000, never());
    expect(asked()).toHaveLength(256);
    expect(asked()).toHaveLength(44);
    expect(asked()).toHaveLength(0);
  });

  it("hear that there is none after their time, and leave nothing behind", async () => {
    const { clock, polls, rest } = scene();
    const answer = rest("one");
    await clock.advance(30_000);
    expect(await answer).toEqual({ kind: "none" });
    expect(polls.size).toBe(0);
  });

  it("are answered with what is on its way, though their time is over by then", async () => {
    const { clock, polls } = scene();
    const answer = polls.add(wish("one"), 10, never());
    const [poll] = polls.next([]);
    await clock.advance(20);
    expect(poll?.answered(work("lease"))).toBe(true);
    expect(await answer).toMatchObject({ kind: "leased" });
  });

  it("say so where work comes and nobody is there to take it", async () => {
    const { polls } = scene();
    const gone = new AbortController();
    const answer = polls.add(wish("one"), 30_000, gone.signal);
    const [poll] = polls.next([]);
    gone.abort();
    expect(poll?.isGone).toBe(true);
    expect(poll?.answered(work("lease"))).toBe(false);
    await answer;
    expect(polls.size).toBe(0);
    expect(await polls.add(wish("two"), 30_000, AbortSignal.abort())).toEqual({ kind: "none" });
  });

  it("are refused when nobody is served any more; what is on its way still comes", async () => {
    const { polls, rest } = scene();
    const resting = rest("one");
    const [served, unserved] = [polls.add(wish("two"), 30_000, never()), polls.add(wish("three"), 30_000, never())];
    const [two, three] = polls.next([]);
    polls.close(new DrainingError());
    await expect(resting).rejects.toMatchObject({ code: "DRAINING" });
    two?.answered(work("lease"));
    three?.answered({ kind: "none" });
    expect(await served).toMatchObject({ kind: "leased" });
    await expect(unserved).rejects.toMatchObject({ code: "DRAINING" });
    expect(polls.size).toBe(0);
  });
});

describe("an agent that asks for a lease again", () => {
  const leaseId = "0191d0a0-0000-7000-8000-000000000001";

  it("is looked after although nothing was there for it before: it may have the lease already", () => {
    const { polls, asked, rest } = scene();
    void rest("one");
    void polls.add(wish("one", { leaseId }), 30_000, never());
    expect(asked()).toEqual([]);
    for (const poll of polls.next([submission("a"), submission("b")])) polls.answered(poll, work(poll.order.leaseId));
    void rest("one");
    void polls.add(wish("one", { leaseId }), 30_000, never());
    expect(polls.next([]).map(({ order }) => order.leaseId)).toEqual([leaseId]);
  });

  it("takes the place of the connection before, whose work is not given back", async () => {
    const { polls } = scene();
    const hungUp = new AbortController();
    const first = polls.add(wish("one", { leaseId }), 30_000, hungUp.signal);
    const [underWay] = polls.next([]);
    const second = polls.add(wish("one", { leaseId }), 30_000, never());
    hungUp.abort();
    if (underWay === undefined) throw new Error("it was not asked for");
    expect(polls.answered(underWay, work(leaseId))).toBe(true);
    expect(await first).toEqual({ kind: "none" });
    const [again] = polls.next([]);
    expect(again?.order.leaseId).toBe(leaseId);
    if (again !== undefined) polls.answered(again, work(leaseId));
    expect(await second).toMatchObject({ kind: "leased", leaseId });
    expect(polls.size).toBe(0);
  });

  it("is not another agent: that one waits on", () => {
    const { polls } = scene();
    void polls.add(wish("one", { leaseId }), 30_000, never());
    void polls.add(wish("two", { leaseId }), 30_000, never());
    expect(polls.size).toBe(2);
  });

  it("are looked after once more where work came for a poll that had given way", async () => {
    const { polls, asked } = scene();
    const first = polls.add(wish("one", { leaseId: "l" }), 30_000, never());
    const [before] = polls.next([]);
    const gone = new AbortController();
    const second = polls.add(wish("one", { leaseId: "l" }), 30_000, gone.signal);
    const [again] = polls.next([]);
    expect(polls.answered(again!, { kind: "none" })).toBe(true);
    expect(polls.answered(before!, work("l"))).toBe(true);
    expect(await first).toEqual({ kind: "none" });
    expect(asked()).toEqual(["one"]);
    polls.answered(again!, work("l"));
    expect(await second).toEqual(work("l"));
  });

  it("are not asked for all at once where they may have more tasks than fit into an answer", () => {
    const { polls, asked } = scene();
    for (let n = 0; n < 40; n += 1) void polls.add(wish(`agent-${n}`, { maxTasks: 64 }), 30_000, never());
    expect([asked().length, asked().length, asked().length, asked().length]).toEqual([16, 16, 8, 0]);
  });
});
