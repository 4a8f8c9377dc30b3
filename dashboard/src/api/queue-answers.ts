/** What the API tells of queues. test/api/dashboard-answers.test.ts holds these beside the server's own schemas. */

export const laneStates = ["idle", "ready", "waiting", "in_flight", "paused", "blocked"] as const;
export type LaneState = (typeof laneStates)[number];

interface Place {
  queue: string;
  role: string;
  stage: string;
  lane: string;
}

export interface Lane extends Place {
  id: string;
  depth: number;
  oldest_seconds: number | null;
  state: LaneState;
  attempts: number;
  reclaims: number;
  wait_ms: number;
  paused: boolean;
  blocked: boolean;
  last_error: string | null;
}

export interface Letter extends Place {
  id: string;
  position: number;
  key: string | null;
  size: number;
  reason: string;
  attempts: number;
  reclaims: number;
  died_at: number;
  redriven_at: number | null;
  redriven_to: number | null;
}

export interface LetterBody {
  id: string;
  headers: Record<string, string>;
  encoding: "utf8" | "base64";
  body: string;
}

export interface Redriven {
  id: string;
  queue: string;
  stage: string;
  lane: string;
  position: number;
}

/** All lanes of a stage together. */
export interface Stage {
  queue: string;
  role: string;
  stage: string;
  lanes: number;
  depth: number;
  oldest_seconds: number | null;
  paused: number;
  blocked: number;
}
