import type { DeadLetter, LaneRow, MessageHead } from "../queue-contract.js";

/** How the rows of the queue read in TypeScript. Positions stay below 2^53. */

export interface LaneJson {
  id: number;
  stage: string;
  lane: string;
  done: number;
  tail: number;
  attempts: number;
  reclaims: number;
  wait_ms: number;
  paused: boolean;
  blocked: boolean;
  last_error: string | null;
}

export function readLane(json: LaneJson): LaneRow {
  const { wait_ms, last_error, ...rest } = json;
  return { ...rest, waitMs: wait_ms, lastError: last_error };
}

export interface MessageJson {
  lane: string;
  position: string;
  segment: number;
  key: string | null;
  headers: Record<string, string> | null;
  at: number;
}

export function readHead(json: MessageJson & { size: number }): MessageHead {
  const { lane, position, key, headers, at, size } = json;
  return { lane: Number(lane), position: Number(position), key, headers, at, size };
}

export interface DeadLetterJson {
  id: string;
  stage: string;
  lane: string;
  position: string;
  key: string | null;
  headers: Record<string, string> | null;
  reason: string;
  attempts: number;
  reclaims: number;
  died_at: number;
  redriven_at: number | null;
  redriven_to: string | null;
}

export function readDeadLetter(json: DeadLetterJson): DeadLetter {
  const { position, died_at, redriven_at, redriven_to, ...rest } = json;
  return {
    ...rest,
    position: Number(position),
    diedAt: died_at,
    redrivenAt: redriven_at,
    redrivenTo: redriven_to === null ? null : Number(redriven_to),
  };
}
