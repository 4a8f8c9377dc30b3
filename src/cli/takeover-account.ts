import { setTimeout as delay } from "node:timers/promises";
import { HoldfastError } from "../errors.js";
import type { TransitionAnswer } from "../server/cluster-answers.js";
import type { ListAnswer } from "../server/page.js";
import type { NodeClient } from "./node-client.js";

const betweenLooksMs = 50;
const usualPatienceMs = 2_000;
const lines = 20;

interface Election {
  readonly role: string;
  readonly epoch: number;
}

/**
 * The database's own account of an election, once it is there: whoever leads answers a moment before everybody can read why.
 * Null where nobody tells it in time. The takeover was seen and measured, and that does not undo it.
 */
export async function untilAccounted(
  client: NodeClient,
  { role, epoch, patienceMs = usualPatienceMs }: Election & { readonly patienceMs?: number },
  signal: AbortSignal,
): Promise<TransitionAnswer | null> {
  const path = `/cluster/history?role=${encodeURIComponent(role)}&limit=${lines}`;
  const until = performance.now() + patienceMs;
  for (;;) {
    try {
      const { items } = await client.get<ListAnswer<TransitionAnswer>>(path, { timeoutMs: patienceMs, signal });
      const found = items.find((item) => item.event === "elected" && item.epoch === epoch);
      if (found !== undefined) return found;
    } catch (error) {
      if (!(error instanceof HoldfastError)) throw error;
    }
    if (performance.now() + betweenLooksMs > until) return null;
    await delay(betweenLooksMs, undefined, { signal });
  }
}
