import type { Clock } from "../election/clock.js";

/** Resolves after so long, or at once when the signal is aborted. */
export async function pause(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted === true) return;
  await new Promise<void>((resolve) => {
    const takeBack = clock.wakeAt(clock.mono() + ms, () => {
      signal?.removeEventListener("abort", early);
      resolve();
    });
    const early = (): void => {
      takeBack();
      resolve();
    };
    signal?.addEventListener("abort", early, { once: true });
  });
}
