import { expect, it } from "vitest";
import { type AppendBatch, delayHeader } from "../store/queue-contract.js";
import { RecentMessages } from "./recent-messages.js";

const batch = (
  lane: number,
  positions: readonly number[],
  extras: { readonly headers?: Readonly<Record<string, string>>; readonly body?: Buffer } = {},
): AppendBatch => ({
  queue: "orders",
  segment: 3,
  waking: [],
  messages: positions.map((position) => ({
    lane,
    position,
    key: null,
    headers: extras.headers ?? null,
    body: extras.body ?? Buffer.from(`${lane}/${position}`),
  })),
});

const taken = (recent: RecentMessages, id: number, done: number, most = 10): readonly number[] | undefined =>
  recent.take({ id, done }, most)?.map(({ position }) => position);

it("the next messages of a lane are handed out once, as many as are asked for, as they were taken in", () => {
  const recent = new RecentMessages();
  recent.note(batch(1, [5, 6, 7]), 1_000);
  recent.note(batch(2, [1]), 1_000);
  recent.note(batch(1, [8]), 2_000);
  const body = Buffer.from("1/5");
  expect(recent.take({ id: 1, done: 4 }, 1)).toEqual([
    { lane: 1, position: 5, segment: 3, key: null, headers: null, at: 1_000, ageMs: 0, body },
  ]);
  expect([taken(recent, 1, 5, 2), taken(recent, 1, 7), taken(recent, 1, 8), taken(recent, 2, 0)]).toEqual([
    [6, 7],
    [8],
    undefined,
    [1],
  ]);
});

it("nothing is handed out where something before it is not here, until the lane has got so far", () => {
  const recent = new RecentMessages();
  recent.note(batch(1, [5, 6]), 0);
  expect([taken(recent, 1, 3), taken(recent, 9, 0)]).toEqual([undefined, undefined]);
  expect(taken(recent, 1, 5)).toEqual([6]);
});

it("what comes after a gap takes the place of what was before it", () => {
  const recent = new RecentMessages();
  recent.note(batch(1, [5, 6]), 0);
  recent.note(batch(1, [8, 9]), 0);
  expect([taken(recent, 1, 4), taken(recent, 1, 7)]).toEqual([undefined, [8, 9]]);
});

it("what is delayed is left to the database, whose clock says how long it has waited", () => {
  const recent = new RecentMessages();
  recent.note(batch(1, [1], { headers: { [delayHeader]: "500" } }), 0);
  recent.note(batch(1, [2]), 0);
  expect([taken(recent, 1, 0), taken(recent, 1, 1)]).toEqual([undefined, [2]]);
});

it("more than 32 MiB that nobody claims are forgotten, and what comes then is remembered", () => {
  const recent = new RecentMessages();
  const body = Buffer.alloc(12 * 1_048_576);
  for (const position of [1, 2]) recent.note(batch(1, [position], { body }), 0);
  expect(taken(recent, 1, 0, 1)).toEqual([1]);
  for (const position of [3, 4]) recent.note(batch(1, [position], { body }), 0);
  recent.note(batch(1, [5]), 0);
  expect([taken(recent, 1, 1), taken(recent, 1, 4)]).toEqual([undefined, [5]]);
});
