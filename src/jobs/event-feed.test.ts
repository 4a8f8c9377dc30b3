import { describe, expect, it } from "vitest";
import { JobScene, jobFence, submission } from "../../test/support/job-scene.js";
import { HoldfastError } from "../errors.js";
import type { EventCursor, EventReading, StoredEvent } from "../store/job-contract.js";
import { EventFeed } from "./event-feed.js";
import { finishedJob } from "./job-wait.js";

/** A signal of its own for everybody who waits. */
const never = (): AbortSignal => new AbortController().signal;

function open() {
  const scene = new JobScene();
  const reads: (EventCursor | null)[] = [];
  const troubles: string[] = [];
  const state = { isAway: false };
  const events = async (after: EventCursor | null, limit: number): Promise<EventReading> => {
    reads.push(after);
    if (state.isAway) throw new HoldfastError("DATABASE_AWAY", "away");
    return await scene.book.events(after, limit);
  };
  const feed = new EventFeed({ book: { events }, clock: scene.clock, trouble: (what) => troubles.push(what) });
  const submit = async (...jobIds: readonly string[]) => {
    await scene.book.apply(
      jobFence,
      jobIds.map((jobId) => submission(jobId)),
    );
  };
  return { scene, feed, reads, troubles, state, submit };
}

const idsOf = (reading: EventReading): readonly number[] =>
  reading.kind === "events" ? reading.events.map(({ id }) => id) : [];

describe("the events of a node", () => {
  it("are read by nobody while nobody listens, and no more when the last has gone", async () => {
    const { scene, feed, reads } = open();
    feed.wake();
    await scene.clock.advance(10_000);
    expect(reads).toEqual([]);
    const [one, other] = [feed.follow(), feed.follow()];
    await scene.clock.advance(0);
    await Promise.all([one.ready, other.ready]);
    expect(reads).toHaveLength(1);
    one[Symbol.dispose]();
    one[Symbol.dispose]();
    await scene.clock.advance(1_000);
    expect(reads).toHaveLength(3);
    other[Symbol.dispose]();
    await scene.clock.advance(10_000);
    expect(reads).toHaveLength(3);
  });

  it("come at once where this node has committed them, within a second where another has, and from memory", async () => {
    const { scene, feed, reads, submit } = open();
    using following = feed.follow();
    await scene.clock.advance(0);
    await following.ready;
    const start = { generation: "g", id: 0 };
    await submit("a");
    feed.wake();
    await scene.clock.advance(0);
    expect(idsOf(await feed.after(start))).toEqual([1]);
    await submit("b");
    const advanced = feed.advanced({ generation: "g", id: 1 }, 60_000, never());
    await scene.clock.advance(1_000);
    await advanced;
    const before = reads.length;
    expect(idsOf(await feed.after(start))).toEqual([1, 2]);
    expect(idsOf(await feed.after({ generation: "g", id: 1 }))).toEqual([2]);
    expect(idsOf(await feed.after({ generation: "g", id: 2 }))).toEqual([]);
    expect(reads).toHaveLength(before);
  });

  it("are asked of the database for a cursor from before, and lose nothing at the seam", async () => {
    const { scene, feed, submit } = open();
    await submit("a", "b", "c");
    using following = feed.follow();
    await scene.clock.advance(0);
    await following.ready;
    await submit("d");
    feed.wake();
    await scene.clock.advance(0);
    const seen: number[] = [];
    for (let cursor = { generation: "g", id: 1 }; ; cursor = { generation: "g", id: seen.at(-1) ?? 0 }) {
      const ids = idsOf(await feed.after(cursor));
      if (ids.length === 0) break;
      seen.push(...ids);
    }
    expect(seen).toEqual([2, 3, 4]);
  });

  it("are reset for a cursor that is not of this stream", async () => {
    const { scene, feed, submit } = open();
    await submit("a");
    using _following = feed.follow();
    await scene.clock.advance(0);
    for (const cursor of [null, { generation: "other", id: 0 }, { generation: "g", id: 99 }]) {
      expect(await feed.after(cursor)).toEqual({ kind: "reset", generation: "g", last: 1 });
    }
  });

  it("go on without a gap after the database was away, which is told once", async () => {
    const { scene, feed, troubles, state, submit } = open();
    const seen: (StoredEvent | null)[] = [];
    using _watching = feed.watch((event) => seen.push(event));
    using _following = feed.follow();
    await scene.clock.advance(0);
    state.isAway = true;
    await submit("a", "b");
    await scene.clock.advance(20_000);
    expect(troubles).toHaveLength(1);
    state.isAway = false;
    await scene.clock.advance(5_000);
    expect(seen.map((event) => event?.id ?? null)).toEqual([null, 1, 2]);
  });
});

describe("waiting for a job", () => {
  const cancel = (scene: JobScene) => scene.book.apply(jobFence, [{ kind: "cancel", jobId: "job" }]);
  const wait = ({ scene, feed }: ReturnType<typeof open>, ms: number, signal = never()) =>
    finishedJob("job", ms, signal, { book: scene.book, feed, clock: scene.clock });

  it("ends when the job does", async () => {
    const opened = open();
    const { scene, feed, submit } = opened;
    await submit("job");
    const waited = wait(opened, 60_000);
    await scene.clock.advance(100);
    await cancel(scene);
    feed.wake();
    await scene.clock.advance(0);
    expect(await waited).toMatchObject({ state: "cancelled" });
  });

  it("ends after its time with the job as it is, and at once where it is finished, unknown or nobody listens", async () => {
    const opened = open();
    const { scene, submit } = opened;
    expect(await wait(opened, 60_000)).toBeNull();
    await submit("job");
    expect(await wait(opened, 0)).toMatchObject({ state: "queued" });
    const [late] = await Promise.all([wait(opened, 500), scene.clock.advance(500)]);
    expect(late).toMatchObject({ state: "queued" });
    const gone = new AbortController();
    const unheard = wait(opened, 60_000, gone.signal);
    await scene.clock.advance(0);
    gone.abort();
    expect(await unheard).toMatchObject({ state: "queued" });
    await cancel(scene);
    expect(await wait(opened, 60_000)).toMatchObject({ state: "cancelled" });
  });

  it("does not ask the database again and again", async () => {
    const opened = open();
    const { scene, submit } = opened;
    await submit("job", "another");
    let looks = 0;
    const book = {
      job: async (jobId: string) => {
        looks += 1;
        return await scene.book.job(jobId);
      },
    };
    const waited = finishedJob("job", 60_000, never(), { book, feed: opened.feed, clock: scene.clock });
    await scene.clock.advance(30_000);
    await scene.book.apply(jobFence, [{ kind: "cancel", jobId: "another" }]);
    await scene.clock.advance(30_000);
    await waited;
    expect(looks).toBe(3);
  });
});
