import { expect, it } from "vitest";
import type { LaneRow } from "../store/queue-contract.js";
import { Express } from "./express.js";
import { Journaled } from "./handler-call.js";
import { LaneTable } from "./lane-table.js";
import type { Message, Produced } from "./message.js";
import type { Settlings } from "./settlings.js";
import type { QueueTermParts } from "./term-parts.js";

const message = { lane: "one", stage: "in", position: 7, attempt: 2, interrupted: false, epoch: 3n } as Message;
const toMiddle = (lane = "one"): Produced => ({ stage: "mid", lane, body: Buffer.from(lane), headers: { id: "1" } });
const toEnd: Produced = { stage: "out", lane: "end", body: Buffer.from("made") };
const step = { id: 1, kind: "processed", stage: "mid", lane: "one", position: 0, detail: null } as const;

const row: LaneRow = {
  id: 1,
  stage: "mid",
  lane: "one",
  done: 4,
  tail: 4,
  attempts: 0,
  reclaims: 0,
  waitMs: 0,
  paused: false,
  blocked: false,
  lastError: null,
};
const source = new LaneTable(() => 0).load({ ...row, id: 2, stage: "in" });

function express(options: { readonly row?: Partial<LaneRow>; readonly isComing?: boolean; readonly made?: unknown }) {
  const { isComing = false, made = [toEnd] } = options;
  const seen: Message[] = [];
  const handler = (given: Message): Journaled => {
    seen.push(given);
    return new Journaled(made as readonly Produced[], { steps: [step], state: [] });
  };
  const table = new LaneTable(() => 0);
  const lane = table.load({ ...row, ...options.row });
  const settings = { stages: ["in", "mid", "out"], maxBodyBytes: 100 };
  const parts = {
    conduct: { express: new Map([["mid", handler]]) },
    handlers: new Map([["mid", handler]]),
    clock: { mono: () => 0 },
    settings,
  } as unknown as QueueTermParts;
  const settlings = { isComing: () => isComing } as unknown as Settlings;
  return { taken: new Express(parts, table, settlings), seen, lane };
}

it("what is produced for an empty lane is handled at once, and what comes of that takes its place", () => {
  const { taken, seen } = express({});
  const yielded = { produced: [toMiddle(), { ...toEnd, lane: "other" }], journal: { steps: [], state: [] } };
  const { produced, journal } = taken.taken(source, message, yielded);
  expect(produced.map(({ stage, lane }) => `${stage} ${lane}`)).toEqual(["out end", "out other"]);
  expect(journal?.steps).toEqual([step]);
  expect(seen).toMatchObject([{ stage: "mid", lane: "one", position: 0, attempt: 1, epoch: 3n, headers: { id: "1" } }]);
});

it.each([
  ["holds something", { row: { tail: 5 } }],
  ["is paused", { row: { paused: true } }],
  ["is blocked", { row: { blocked: true } }],
  ["is not known yet", { row: { lane: "another" } }],
  ["has something on its way to it", { isComing: true }],
])("what is produced for a lane that %s goes to that lane", (_case, options) => {
  const { taken, seen } = express(options);
  expect(taken.taken(source, message, { produced: [toMiddle()], journal: null })).toEqual({
    produced: [toMiddle()],
    journal: null,
  });
  expect(seen).toEqual([]);
});

it.each(["inFlight", "appending", "held"] as const)("nor does it pass a lane that is %s", (state) => {
  const { taken, lane } = express({});
  lane[state] = true;
  expect(taken.taken(source, message, { produced: [toMiddle()], journal: null }).produced).toEqual([toMiddle()]);
});

it("what fails there, or makes no messages, goes to its lane, and what comes after it behind it", () => {
  const { taken, seen } = express({ made: [{ stage: "nowhere", lane: "x", body: "" }] });
  const yielded = { produced: [toMiddle(), toMiddle()], journal: null };
  expect(taken.taken(source, message, yielded)).toEqual(yielded);
  expect(seen).toHaveLength(1);
});

it("a message that a leader went down with is handled stage by stage", () => {
  const { taken, seen } = express({});
  const yielded = { produced: [toMiddle()], journal: null };
  expect(taken.taken(source, { ...message, interrupted: true }, yielded)).toBe(yielded);
  expect(seen).toEqual([]);
});

it("a lane that left something in another waits while that moves, and not while it cannot", () => {
  const { taken, lane } = express({ row: { tail: 5 } });
  expect(taken.isHeldUp(source)).toBe(false);
  taken.taken(source, message, { produced: [toMiddle()], journal: null });
  expect(taken.isHeldUp(source)).toBe(true);
  for (const state of ["paused", "blocked", "held"] as const) {
    lane[state] = true;
    expect(taken.isHeldUp(source)).toBe(false);
    lane[state] = false;
  }
  lane.readyAt = 10;
  expect(taken.isHeldUp(source)).toBe(false);
  lane.inFlight = true;
  expect(taken.isHeldUp(source)).toBe(true);
  Object.assign(lane, { inFlight: false, done: 5 });
  expect(taken.isHeldUp(source)).toBe(false);
});
