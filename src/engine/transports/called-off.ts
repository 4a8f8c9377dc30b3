import { aborted } from "../../lifecycle/aborted.js";
import type { DeliveryOutcome } from "./transport.js";

/** How far a delivery has come: from some step on, what it writes may be there whether or not an answer comes. */
export interface DeliveryProgress {
  mayBeThere: boolean;
}

/** What is told of a delivery that nobody waits for any more. */
export async function calledOff(signal: AbortSignal, progress: DeliveryProgress): Promise<DeliveryOutcome> {
  await aborted(signal);
  const reason = "it was called off";
  return progress.mayBeThere ? { kind: "unconfirmed", reason } : { kind: "unreached", reason };
}
