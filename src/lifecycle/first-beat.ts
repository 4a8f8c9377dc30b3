import type { EventEmitter } from "node:events";
import type { Clock } from "../election/clock.js";
import { HoldfastError } from "../errors.js";
import { within } from "./within.js";

/** What a node hears of its own beats. */
export type BeatSignals = EventEmitter<{ beaten: []; failed: [HoldfastError] }>;

export interface FirstBeatPatience {
  /** How long the database may take to answer. */
  readonly answerMs: number;
  /** How long the sessions of a predecessor that was killed a moment ago may linger. */
  readonly predecessorMs: number;
}

/** Resolves with the first answered beat, rejects with what no retry mends. `begin` sets the beats going. */
export async function firstBeat(
  signals: BeatSignals,
  clock: Clock,
  { answerMs, predecessorMs }: FirstBeatPatience,
  begin: () => void,
): Promise<void> {
  const deadline = clock.mono() + predecessorMs;
  const joined = new Promise<void>((resolve, reject) => {
    signals.once("beaten", resolve);
    signals.on("failed", (error) => {
      if (error.code !== "SCHEMA_IN_USE" || clock.mono() >= deadline) reject(error);
    });
  });
  begin();
  try {
    await within(answerMs, joined, () => {
      throw new HoldfastError(
        "DATABASE_AWAY",
        `The database did not answer the first beat within ${answerMs / 1000} s.`,
      );
    });
  } finally {
    signals.removeAllListeners("failed");
  }
}
