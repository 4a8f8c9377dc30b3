import { describe, expect, it } from "vitest";
import type { LaneRow, QueueBook } from "../store/queue-contract.js";
import type { Lane } from "./core/lane.js";
import { LaneTable } from "./lane-table.js";
import { Steering } from "./steering.js";
import type { QueueTermParts } from "./term-parts.js";

const row: LaneRow = {
  id: 1,
  stage: "in",
  lane: "x",
  done: 0,
  tail: 5,
  attempts: 0,
  reclaims: 0,
  waitMs: 0,
  paused: false,
  blocked: false,
  lastError: null,
};

/** A book whose answers the test gives when it likes, and one lane of the leader. */
class Desk {
  readonly table = new LaneTable(() => 0);
  readonly taken: (readonly number[])[] = [];
  marks: number[] = [];
  nudges = 0;
  /** What the database says while its answer is under way. */
  answer: () => Promise<readonly LaneRow[]> = async () => await Promise.resolve([row]);
  readonly steering = new Steering(this.parts(), this.table, () => {
    this.nudges += 1;
  });

  lane(): Lane {
    return this.table.get(1) as Lane;
  }

  private parts(): QueueTermParts {
    const book: Pick<QueueBook, "steered" | "takeSteered"> = {
      steered: async () => await Promise.resolve([...this.marks]),
      takeSteered: async (_fence, lanes) => {
        this.taken.push(lanes);
        this.marks = [];
        return await this.answer();
      },
    };
    return { book, settings: { name: "orders" } } as unknown as QueueTermParts;
  }
}

function deskWith(known: Partial<LaneRow> = {}): Desk {
  const desk = new Desk();
  desk.table.load({ ...row, ...known });
  desk.marks = [1];
  return desk;
}

describe("a lane that was steered", () => {
  it("is as its row says, where nothing of it was worked on", async () => {
    const desk = deskWith({ blocked: true, attempts: 2 });
    desk.answer = async () => await Promise.resolve([{ ...row, done: 1, paused: true }]);
    await desk.steering.look();
    expect(desk.lane()).toMatchObject({ done: 1, reached: 1, attempts: 0, blocked: false, paused: true });
    expect(desk.nudges).toBe(1);
  });

  it("is made known where it was not", async () => {
    const desk = new Desk();
    desk.marks = [1];
    await desk.steering.look();
    expect(desk.lane()).toMatchObject({ tail: 5, paused: false });
  });

  it("is not looked for where nobody steered", async () => {
    const desk = deskWith();
    desk.marks = [];
    await desk.steering.look();
    expect(desk.taken).toEqual([]);
    expect(desk.nudges).toBe(0);
  });

  it("that is in flight is paused at once, and keeps all that its claim is about", async () => {
    const desk = deskWith();
    Object.assign(desk.lane(), { inFlight: true, reached: 3, attempts: 1 });
    desk.answer = async () => await Promise.resolve([{ ...row, paused: true }]);
    await desk.steering.look();
    expect(desk.lane()).toMatchObject({ paused: true, inFlight: true, reached: 3, done: 0, attempts: 1 });
  });

  it("that was in flight is read again when it stands still", async () => {
    const desk = deskWith();
    desk.lane().inFlight = true;
    await desk.steering.look();
    await desk.steering.look();
    Object.assign(desk.lane(), { inFlight: false, blocked: true });
    desk.answer = async () => await Promise.resolve([{ ...row, done: 1 }]);
    await desk.steering.look();
    expect(desk.lane()).toMatchObject({ done: 1, blocked: false });
    await desk.steering.look();
    expect(desk.taken).toEqual([[1], [1], [1]]);
  });

  it("whose head failed for good while the row was on its way stays blocked, until it is read again", async () => {
    const desk = deskWith();
    desk.answer = async () => {
      Object.assign(desk.lane(), { attempts: 3, blocked: true }); // Claimed, failed and committed meanwhile.
      return await Promise.resolve([row]);
    };
    await desk.steering.look();
    expect(desk.lane().blocked).toBe(true);
    desk.answer = async () => await Promise.resolve([{ ...row, attempts: 3, blocked: true }]);
    await desk.steering.look();
    expect(desk.lane()).toMatchObject({ attempts: 3, blocked: true });
  });

  it("that moved on while the row was on its way does not go back", async () => {
    const desk = deskWith();
    desk.answer = async () => {
      Object.assign(desk.lane(), { done: 4, reached: 4 });
      return await Promise.resolve([{ ...row, paused: true }]);
    };
    await desk.steering.look();
    expect(desk.lane()).toMatchObject({ done: 4, reached: 4, paused: true });
  });

  it("is read again where the answer got lost with the mark", async () => {
    const desk = deskWith();
    desk.answer = async () => await Promise.reject(new Error("the reply was lost"));
    await expect(desk.steering.look()).rejects.toThrow("lost");
    desk.answer = async () => await Promise.resolve([{ ...row, paused: true }]);
    await desk.steering.look();
    expect(desk.lane().paused).toBe(true);
    expect(desk.taken).toEqual([[1], [1]]);
  });

  it("that was put to rest while it was read is woken by the next append all the same", async () => {
    const desk = deskWith();
    desk.answer = async () => {
      desk.lane().atRest = true;
      return await Promise.resolve([row]);
    };
    await desk.steering.look();
    expect(desk.lane().atRest).toBe(true);
  });

  it("is read by one at a time: what was read first never comes last", async () => {
    const desk = deskWith();
    const order: string[] = [];
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const reading = desk.steering.alone(async () => {
      await held;
      order.push("recovered");
    });
    const looking = desk.steering.look().then(() => order.push("looked"));
    release();
    await Promise.all([reading, looking]);
    expect(order).toEqual(["recovered", "looked"]);
  });
});
