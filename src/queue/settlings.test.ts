import { expect, it } from "vitest";
import { systemClock } from "../election/clock.js";
import { HoldfastError } from "../errors.js";
import type { LaneRow, QueueBook } from "../store/queue-contract.js";
import { Appender } from "./appender.js";
import type { Lane } from "./core/lane.js";
import { LaneTable } from "./lane-table.js";
import { type SettlingLine, Settlings } from "./settlings.js";
import type { QueueTermParts } from "./term-parts.js";

const row = (id: number, stage: string): LaneRow => ({
  id,
  stage,
  lane: "a",
  done: 0,
  tail: 5,
  attempts: 0,
  reclaims: 0,
  waitMs: 0,
  paused: false,
  blocked: false,
  lastError: null,
});

/** Lane 1 is of a stage that is settled as usual, lane 2 of one in which each message is. */
function scene(settle: (lanes: readonly number[]) => Promise<void>) {
  const commits: (readonly number[])[] = [];
  const told: (readonly ["settled" | "failed", SettlingLine])[] = [];
  const book: Pick<QueueBook, "settle"> = {
    settle: async (_fence, settlements) => {
      const lanes = settlements.map(({ lane }) => lane);
      commits.push(lanes);
      await settle(lanes);
      return [];
    },
  };
  const table = new LaneTable(() => 0);
  const [usual, each] = [table.load(row(1, "routed")), table.load(row(2, "outbound"))] as [Lane, Lane];
  const conduct = { settleEach: new Set(["outbound"]) };
  const settings = { name: "orders", batch: 10 };
  const parts = { book, clock: systemClock, settings, conduct } as unknown as QueueTermParts;
  const settlings = new Settlings({
    parts,
    table,
    appender: new Appender(parts, table, 1),
    onSettled: (line) => told.push(["settled", line]),
    onFreed: () => undefined,
    failed: (_error, line) => told.push(["failed", line]),
  });
  return { settlings, usual, each, commits, told };
}

it("a lane in which each message is settled does not wait for the commits of others", async () => {
  let commit = (): void => undefined;
  const slow = new Promise<void>((resolve) => {
    commit = resolve;
  });
  const { settlings, usual, each, commits } = scene(async ([lane]) => (lane === 1 ? await slow : undefined));
  const running = settlings.run();
  settlings.of(usual).finished(usual, 1, { position: 1, segment: 1 }, []);
  for (let position = 1; position <= 3; position += 1) {
    settlings.of(each).finished(each, 2, { position, segment: 1 }, []);
    await settlings.of(each).known(each);
  }
  expect({ usual: usual.done, each: each.done }).toEqual({ usual: 0, each: 3 });
  commit();
  settlings.stop();
  await running;
  expect(usual.done).toBe(1);
  expect(commits.filter((lanes) => lanes.includes(2))).toEqual([[2], [2], [2]]);
  expect(commits.filter((lanes) => lanes.includes(1))).toEqual([[1]]);
});

it("what one line could not commit is told as its own, and the other goes on", async () => {
  const { settlings, usual, each, told } = scene(async ([lane]) => {
    if (lane === 1) throw new HoldfastError("DATABASE_AWAY", "gone");
    return await Promise.resolve();
  });
  const running = settlings.run();
  settlings.of(usual).finished(usual, 1, { position: 1, segment: 1 }, []);
  await settlings.of(usual).known(usual);
  settlings.of(each).finished(each, 2, { position: 1, segment: 1 }, []);
  await settlings.of(each).known(each);
  settlings.stop();
  await running;
  expect(told).toEqual([
    ["failed", "usual"],
    ["settled", "each"],
  ]);
  expect({ usual: usual.done, each: each.done }).toEqual({ usual: 0, each: 1 });
});
