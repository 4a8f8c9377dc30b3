import { NotLeaderError } from "../errors.js";
import type { Gate } from "./gate.js";

/** What a function that leads is run under. */
export interface LedUnder {
  /** Aborted when the term ends. */
  readonly signal: AbortSignal;
  readonly gate: Pick<Gate, "excuses" | "isLeader">;
  /** Resolves when the gate is open, or there is nothing left to wait for. */
  gateOpened(): Promise<void>;
  /** Any other throw gives the role up (R10). */
  failed(error: unknown): void;
}

/**
 * A function that ends because the gate was shut for a moment is run again when it has opened: the term goes on, and so
 * must its work.
 */
export async function ledUntilStopped(lead: () => Promise<void> | void, under: LedUnder): Promise<void> {
  const { signal, gate } = under;
  while (!signal.aborted) {
    try {
      await lead();
      return;
    } catch (error) {
      // After the end, an error is most often the abort itself.
      if (signal.aborted) return;
      // By now the gate may have opened again, so what counts is how it was when it refused.
      const wasShut = error instanceof NotLeaderError && (gate.excuses(error) || !gate.isLeader);
      if (!wasShut) {
        under.failed(error);
        return;
      }
    }
    await under.gateOpened();
  }
}
