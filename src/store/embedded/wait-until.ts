import { setTimeout as sleep } from "node:timers/promises";

/**
 * For what no event announces: the end of a process that is not our child, the status line of a pid file. Looks at once, then
 * with a short backoff, and answers whether it came true in time.
 */
export async function waitUntil(condition: () => boolean | Promise<boolean>, timeoutMs: number): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  for (let pauseMs = 2; ; pauseMs = Math.min(pauseMs * 1.5, 50)) {
    if (await condition()) return true;
    if (performance.now() >= deadline) return false;
    await sleep(pauseMs);
  }
}
