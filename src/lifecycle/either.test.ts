import { getEventListeners } from "node:events";
import { expect, it } from "vitest";
import { aborted } from "./aborted.js";
import { untilEither } from "./either.js";

it.each([0, 1])("ends work when one of two signals is aborted (%d), and leaves nothing with either", async (which) => {
  const both = [new AbortController(), new AbortController()] as const;
  const working = untilEither(both[0].signal, both[1].signal, async (signal) => {
    await aborted(signal);
    return "ended";
  });
  expect(getEventListeners(both[1 - which]!.signal, "abort")).toHaveLength(1);
  both[which]!.abort();
  expect(await working).toBe("ended");
  for (const { signal } of both) expect(getEventListeners(signal, "abort")).toEqual([]);
});

it("hands on that one was aborted before, and what the work fails with", async () => {
  const open = new AbortController().signal;
  expect(await untilEither(open, AbortSignal.abort(), async ({ aborted: isOver }) => isOver)).toBe(true);
  const failing = untilEither(open, open, async () => {
    throw new Error("no");
  });
  await expect(failing).rejects.toThrow("no");
  expect(getEventListeners(open, "abort")).toEqual([]);
});
