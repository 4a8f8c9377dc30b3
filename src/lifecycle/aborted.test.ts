import { describe, expect, it } from "vitest";
import { aborted } from "./aborted.js";

describe("waiting for a signal", () => {
  it("ends when it is aborted", async () => {
    const over = new AbortController();
    let isOver = false;
    const waiting = aborted(over.signal).then(() => {
      isOver = true;
    });
    await Promise.resolve();
    expect(isOver).toBe(false);
    over.abort();
    await waiting;
    expect(isOver).toBe(true);
  });

  it("ends at once where it already was", async () => {
    await expect(aborted(AbortSignal.abort())).resolves.toBeUndefined();
  });
});
