import { expect, it } from "vitest";
import type { Json } from "../jobs/core/job.js";
import { SharedState } from "./shared-state.js";

/** A book whose versions a test writes. */
function bookOf() {
  const entries = new Map<string, { value: Json | undefined; version: number }>();
  let version = 0;
  const readSince: number[] = [];
  return {
    readSince,
    write(key: string, value: Json | undefined): void {
      version += 1;
      entries.set(key, { value, version });
    },
    stateVersions: async () => await Promise.resolve(new Map(version === 0 ? [] : [["seen", version]])),
    readState: async (_: string, since: number) => {
      readSince.push(since);
      const changed = [...entries].filter(([, entry]) => entry.version > since);
      return await Promise.resolve({ version, entries: changed.map(([key, { value }]) => ({ key, value })) });
    },
  };
}

const seenOf = (state: SharedState) => state.draft(["seen"]).namespace("seen");

it("a node follows what was committed elsewhere, by versions, and reads only what is new", async () => {
  const book = bookOf();
  const state = new SharedState(book);
  book.write("a", 1);
  book.write("b", 2);
  await state.follow();
  book.write("a", undefined);
  await state.follow();
  await state.follow();
  expect([seenOf(state).get("a"), seenOf(state).get("b")]).toEqual([undefined, 2]);
  expect(book.readSince).toEqual([0, 2]);
});

it("what a message writes is seen by itself at once, and by the next ones when it is through", () => {
  const state = new SharedState(bookOf());
  const draft = state.draft(["seen"]);
  const seen = draft.namespace("seen");
  seen.set("a", 1);
  expect([seen.get("a"), seenOf(state).get("a")]).toEqual([1, undefined]);
  expect(draft.commit()).toEqual([{ namespace: "seen", key: "a", value: 1 }]);
  expect(seenOf(state).get("a")).toBe(1);
});

it("of a message that fails nothing is kept", () => {
  const state = new SharedState(bookOf());
  const draft = state.draft(["seen"]);
  draft.namespace("seen").set("a", 1);
  expect(seenOf(state).get("a")).toBeUndefined();
});

it("what was never committed is forgotten when all is read anew", async () => {
  const book = bookOf();
  book.write("a", 1);
  const state = new SharedState(book);
  await state.follow();
  const draft = state.draft(["seen"]);
  draft.namespace("seen").set("a", 2);
  draft.namespace("seen").delete("b");
  draft.commit();
  await state.reload();
  expect(seenOf(state).get("a")).toBe(1);
});

it("a node that has only followed reads at its promotion what is new, and one that has led reads all", async () => {
  const book = bookOf();
  book.write("a", 1);
  const state = new SharedState(book);
  await state.follow();
  book.write("b", 2);
  await state.reload();
  expect([seenOf(state).get("a"), seenOf(state).get("b")]).toEqual([1, 2]);
  const draft = state.draft(["seen"]);
  draft.namespace("seen").set("a", 2);
  draft.commit();
  await state.reload();
  expect(seenOf(state).get("a")).toBe(1);
  expect(book.readSince).toEqual([0, 1, 0]);
});

it("a look that is still under way at the promotion changes nothing that was handled since", async () => {
  const book = bookOf();
  book.write("a", 1);
  const readings: (() => void)[] = [];
  const slow = {
    ...book,
    readState: async (namespace: string, since: number) => {
      const reading = await book.readState(namespace, since);
      await new Promise<void>((resolve) => readings.push(resolve));
      return reading;
    },
  };
  const state = new SharedState(slow);
  const looking = state.follow();
  const promoted = state.reload();
  await expect.poll(() => readings.length).toBe(1);
  book.write("a", 2);
  readings[0]?.();
  await looking;
  await expect.poll(() => readings.length).toBe(2);
  readings[1]?.();
  await promoted;
  const draft = state.draft(["seen"]);
  draft.namespace("seen").set("a", 3);
  draft.commit();
  expect(seenOf(state).get("a")).toBe(3);
});

it("what a handler does to its object afterwards changes nothing", () => {
  const state = new SharedState(bookOf());
  const draft = state.draft(["seen"]);
  const beds = ["1"];
  draft.namespace("seen").set("a", beds);
  beds.push("2");
  expect(draft.commit()).toEqual([{ namespace: "seen", key: "a", value: ["1"] }]);
});

it.each([[""], ["a\0b"], ["x".repeat(501)], [7 as never]])("key %j is refused", (key) => {
  const seen = seenOf(new SharedState(bookOf()));
  expect(() => seen.set(key, 1)).toThrow("A key of the state");
});
