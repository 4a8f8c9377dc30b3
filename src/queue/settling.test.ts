import { expect, it } from "vitest";
import { systemClock } from "../election/clock.js";
import type { AppendBatch, LaneRow, QueueBook } from "../store/queue-contract.js";
import { Appender, type Incoming } from "./appender.js";
import type { Lane } from "./core/lane.js";
import { LaneTable } from "./lane-table.js";
import { Settling } from "./settling.js";
import type { QueueTermParts } from "./term-parts.js";

const row = (id: number, lane: string): LaneRow => ({
  id,
  stage: "out",
  lane,
  done: 0,
  tail: 0,
  attempts: 0,
  reclaims: 0,
  waitMs: 0,
  paused: false,
  blocked: false,
  lastError: null,
});
const made = (lane: string): Incoming => ({ stage: "out", lane, key: null, headers: null, body: Buffer.from(lane) });
const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

it("what is produced for two lanes holds neither until it can have both: whoever has one may wait for the other", async () => {
  const batches: (AppendBatch | null)[] = [];
  const book: Pick<QueueBook, "settle"> = {
    settle: async (_fence, _settlements, produced) => {
      batches.push(produced);
      return await Promise.resolve([]);
    },
  };
  const table = new LaneTable(() => 0);
  const [source, a, b] = [row(1, "source"), row(2, "a"), row(3, "b")].map((one) => table.load(one)) as [
    Lane,
    Lane,
    Lane,
  ];
  const parts = {
    book,
    clock: systemClock,
    settings: { name: "orders", batch: 10 },
    conduct: {},
  } as unknown as QueueTermParts;
  const ignore = (): void => undefined;
  const appender = new Appender(parts, table, 1);
  const settling = new Settling({ parts, table, appender, onSettled: ignore, onFreed: ignore, failed: ignore });
  const running = settling.run();

  b.appending = true; // By a redrive, which waits for the other.
  settling.finished(source, 1, { position: 1, segment: 1 }, [made("a"), made("b")]);
  for (let turns = 0; turns < 5; turns += 1) await turn();
  settling.nudge();
  expect({ a: a.appending, batches }).toEqual({ a: false, batches: [] });

  b.appending = false;
  settling.nudge();
  expect([a.appending, b.appending]).toEqual([true, true]);
  settling.stop();
  await running;
  expect(batches.map((batch) => batch?.messages.map(({ lane }) => lane))).toEqual([[2, 3]]);
  expect([a.appending, b.appending]).toEqual([false, false]);
});

it("what is produced for a lane that is in doubt is given back: that lane is read again only when nothing is under way", async () => {
  const failures: unknown[] = [];
  const commits: number[] = [];
  const book: Pick<QueueBook, "settle"> = {
    settle: async (_fence, settlements) => {
      commits.push(...settlements.map(({ lane }) => lane));
      return await Promise.resolve([]);
    },
  };
  const table = new LaneTable(() => 0);
  const [source, other, doubtful] = [row(1, "source"), row(2, "other"), row(3, "doubtful")].map((one) =>
    table.load(one),
  ) as [Lane, Lane, Lane];
  const conduct = {};
  const settings = { name: "orders", batch: 10 };
  const parts = { book, clock: systemClock, settings, conduct } as unknown as QueueTermParts;
  const appender = new Appender(parts, table, 1);
  const ignore = (): void => undefined;
  const failed = (error: unknown): void => void failures.push(error);
  const settling = new Settling({ parts, table, appender, onSettled: ignore, onFreed: ignore, failed });
  const running = settling.run();
  const placed = appender.place([made("doubtful")]);
  settling.finished(source, 1, { position: 1, segment: 1 }, [made("doubtful")]);
  settling.finished(other, 1, { position: 1, segment: 1 }, []);
  for (let turns = 0; turns < 5; turns += 1) await turn();
  expect({ commits, failures }).toEqual({ commits: [2], failures: [] });
  appender.doubt(placed);
  settling.nudge();
  await running;
  expect(failures).toMatchObject([{ code: "UNKNOWN_OUTCOME" }]);
  expect({ commits, isHeld: doubtful.appending }).toEqual({ commits: [2], isHeld: true });
});

it("what handlers keep is committed in the order in which they ended, also where the first has to wait for a lane", async () => {
  const commits: (readonly string[])[] = [];
  const book: Pick<QueueBook, "settle"> = {
    settle: async (_fence, settlements, _produced, journal) => {
      const kept = (journal?.state ?? []).map(({ value }) => JSON.stringify(value));
      commits.push([...settlements.map(({ lane }) => `lane ${lane}`), ...kept]);
      return await Promise.resolve([]);
    },
  };
  const table = new LaneTable(() => 0);
  const lanes = [row(1, "one"), row(2, "two"), row(3, "three"), row(4, "busy")].map((given) => table.load(given));
  const [one, two, three, busy] = lanes as [Lane, Lane, Lane, Lane];
  const parts = {
    book,
    clock: systemClock,
    settings: { name: "orders", batch: 10 },
    conduct: {},
  } as unknown as QueueTermParts;
  const ignore = (): void => undefined;
  const appender = new Appender(parts, table, 1);
  const settling = new Settling({ parts, table, appender, onSettled: ignore, onFreed: ignore, failed: ignore });
  const running = settling.run();
  const keeping = (value: number) => ({ steps: [], state: [{ namespace: "beds", key: "7", value }] });
  const at = { position: 1, segment: 1 };

  busy.appending = true;
  settling.finished(one, 1, at, [made("busy")], keeping(1));
  settling.finished(two, 1, at, [], keeping(2));
  settling.finished(three, 1, at, []);
  for (let turns = 0; turns < 5; turns += 1) await turn();
  expect(commits).toEqual([["lane 3"]]);

  busy.appending = false;
  settling.nudge();
  settling.stop();
  await running;
  expect(commits).toEqual([["lane 3"], ["lane 1", "lane 2", "1", "2"]]);
});
