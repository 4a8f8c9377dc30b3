import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { followCluster } from "./live-stream.js";

/** A stream that says what the test says. */
class Stream extends EventTarget {
  static all: Stream[] = [];
  isOpen = true;

  constructor() {
    super();
    Stream.all.push(this);
  }

  close(): void {
    this.isOpen = false;
  }
}

beforeEach(() => {
  Stream.all = [];
  vi.stubGlobal("EventSource", Stream);
  const session = { signed_in: true, open: false, permissions: [] };
  vi.stubGlobal("fetch", async () => await Promise.resolve(Response.json(session)));
});
afterEach(() => vi.unstubAllGlobals());

it("comes back where its token ended, and another tab has signed in with a new one", async () => {
  const close = followCluster();
  Stream.all[0]?.dispatchEvent(new Event("signed_out"));
  await expect.poll(() => Stream.all.map(({ isOpen }) => isOpen)).toEqual([false, true]);
  close();
  expect(Stream.all.at(-1)?.isOpen).toBe(false);
});
