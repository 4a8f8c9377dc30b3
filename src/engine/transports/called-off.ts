import type { DeliveryOutcome } from "./transport.js";

/** How far a delivery has come: from some step on, what it writes may be there whether or not an answer comes. */
export interface DeliveryProgress {
  mayBeThere: boolean;
}

/** What became of a delivery, or what is told of it once nobody waits for it any more. */
export async function unlessCalledOff(
  signal: AbortSignal,
  deliver: (progress: DeliveryProgress) => Promise<DeliveryOutcome>,
): Promise<DeliveryOutcome> {
  const progress: DeliveryProgress = { mayBeThere: false };
  const delivered = deliver(progress);
  let tell = (): void => undefined;
  const calledOff = new Promise<DeliveryOutcome>((resolve) => {
    tell = () => resolve({ kind: progress.mayBeThere ? "unconfirmed" : "unreached", reason: "it was called off" });
  });
  if (signal.aborted) tell();
  else signal.addEventListener("abort", tell, { once: true });
  try {
    return await Promise.race([delivered, calledOff]);
  } finally {
    // A signal made of others is kept for as long as they are, where somebody still listens to it.
    signal.removeEventListener("abort", tell);
  }
}
