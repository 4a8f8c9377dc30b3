import { describe, expect, it } from "vitest";
import type { LaneRow, QueueBook } from "../store/queue-contract.js";
import { Appender, type Incoming } from "./appender.js";
import type { Lane } from "./core/lane.js";
import { LaneTable } from "./lane-table.js";
import type { QueueTermParts } from "./term-parts.js";

const row: LaneRow = {
  id: 1,
  stage: "in",
  lane: "x",
  done: 0,
  tail: 0,
  attempts: 0,
  reclaims: 0,
  waitMs: 0,
  paused: false,
  blocked: false,
  lastError: null,
};
const message: Incoming = { stage: "in", lane: "x", key: null, headers: null, body: Buffer.from("1") };

/** An appender whose book answers when the test says so. */
function desk() {
  const answers: (() => void)[] = [];
  const book: Pick<QueueBook, "openLanes"> = {
    openLanes: async () => {
      await new Promise<void>((resolve) => answers.push(resolve));
      return [row];
    },
  };
  const table = new LaneTable(() => 0);
  const parts = { book, settings: { name: "orders" }, conduct: {} } as unknown as QueueTermParts;
  return { table, answers, appender: new Appender(parts, table, 1), lane: () => table.find("in", "x") as Lane };
}

describe("the places in a lane", () => {
  it("stay as they are known where two open the lane at a time, and the second answer is late", async () => {
    const { table, answers, appender, lane } = desk();
    const first = appender.openLanes([message]);
    const second = appender.openLanes([message]);
    answers[0]?.();
    await first;
    appender.committed(appender.place([message]));
    expect(table.take(1, new Set(["in"]))).toEqual([lane()]);
    answers[1]?.();
    await second;
    expect(lane()).toMatchObject({ inFlight: true, tail: 1 });
    expect(table.take(1, new Set(["in"]))).toEqual([]);
  });

  it("are given to nobody else while it is not known who has them, and again when the lane has been read", async () => {
    const { table, appender, lane } = desk();
    table.load(row);
    await appender.openLanes([message]);
    appender.doubt(appender.place([message]));
    expect(appender.isFree(message)).toBe(false);
    appender.free([message]);
    expect(appender.isFree(message)).toBe(false);
    const doubts = appender.doubts();
    table.load({ ...row, tail: 1 });
    appender.resolve(doubts);
    expect(appender.isFree(message)).toBe(true);
    expect(appender.place([message]).batch.messages).toMatchObject([{ position: lane().tail + 1 }]);
    expect(lane().tail).toBe(1);
  });
});
