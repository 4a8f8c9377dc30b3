import { expect, it } from "vitest";
import type { EventFeed } from "../jobs/event-feed.js";
import { eventStream } from "./event-stream.js";

it("rests between two attempts to read while the database is away, also where there is more to read", async () => {
  const steps: string[] = [];
  const over = new AbortController();
  const feed = {
    follow: () => ({ [Symbol.dispose]: () => undefined }),
    after: async () => {
      steps.push("read");
      if (steps.length > 20) over.abort();
      return await Promise.reject(new Error("away"));
    },
    // Others have got further than this listener.
    advanced: async () => await Promise.resolve(true),
    rest: async (ms: number) => {
      steps.push(`rest ${ms}`);
      if (steps.length === 6) over.abort();
      await Promise.resolve();
    },
  } as unknown as EventFeed;
  const first = { kind: "events", generation: "g", events: [] } as const;
  const parts = { feed, first, from: { generation: "g", id: 1 }, signal: over.signal, keepAliveMs: 15_000 };
  const said = eventStream({ ...parts, accessEnded: new AbortController().signal, stalled: () => undefined });
  for await (const _text of said);
  expect(steps).toEqual(["read", "rest 1000", "read", "rest 1000", "read", "rest 1000"]);
});
