/** What holds a lane up, if anything does; the last of these that is true. */
export const laneStates = ["idle", "ready", "waiting", "in_flight", "paused", "blocked"] as const;

export type LaneState = (typeof laneStates)[number];

export interface LaneFilter {
  readonly queue?: string | undefined;
  readonly stage?: string | undefined;
  readonly lane?: string | undefined;
  readonly state?: LaneState | undefined;
  /** The id of the last lane of the page before. */
  readonly after?: string | undefined;
  readonly limit: number;
}

export interface SeenLane {
  readonly id: string;
  readonly queue: string;
  /** Whose leader works on the queue. */
  readonly role: string;
  readonly stage: string;
  readonly lane: string;
  /** How many messages are not finished. */
  readonly depth: number;
  /** For how long the head has been there; null where the lane is empty. */
  readonly oldestMs: number | null;
  readonly state: LaneState;
  readonly attempts: number;
  readonly reclaims: number;
  readonly waitMs: number;
  readonly paused: boolean;
  readonly blocked: boolean;
  readonly lastError: string | null;
}

/** All lanes of a stage together. */
export interface SeenStage {
  readonly queue: string;
  /** Whose leader works on the queue. */
  readonly role: string;
  readonly stage: string;
  readonly lanes: number;
  /** How many messages are not finished. */
  readonly depth: number;
  /** For how long the oldest head has been there; null where all lanes are empty. */
  readonly oldestMs: number | null;
  /** How many lanes somebody holds. */
  readonly paused: number;
  /** How many lanes their own head holds. */
  readonly blocked: number;
}
