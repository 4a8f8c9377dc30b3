/**
 * What any process may see of all queues, whoever leads: each reading is of one moment, and none of them locks anything or
 * shows the body of a message that nobody asked for by its id.
 */
export interface QueueView {
  /** In the order in which they came to be. */
  lanes(filter: LaneFilter): Promise<readonly SeenLane[]>;
  /** Newest first. */
  deadLetters(filter: LetterFilter): Promise<readonly SeenLetter[]>;
  deadLetter(id: string): Promise<SeenLetter | null>;
  deadLetterBody(id: string): Promise<LetterBody | null>;
  /** For how long the oldest unfinished message of the queue has been there; null where there is none. */
  oldestMs(queue: string): Promise<number | null>;
}

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

export interface LetterFilter {
  readonly queue?: string | undefined;
  readonly stage?: string | undefined;
  readonly lane?: string | undefined;
  /** The id of the last letter of the page before. */
  readonly before?: string | undefined;
  readonly limit: number;
}

/** A dead letter without its content: neither body nor headers, which may say as much. */
export interface SeenLetter {
  readonly id: string;
  readonly queue: string;
  readonly role: string;
  readonly stage: string;
  readonly lane: string;
  readonly position: number;
  readonly key: string | null;
  /** Of the body, in bytes. */
  readonly size: number;
  readonly reason: string;
  readonly attempts: number;
  readonly reclaims: number;
  /** Milliseconds since 1970, by the database's clock. */
  readonly diedAt: number;
  readonly redrivenAt: number | null;
  readonly redrivenTo: number | null;
}

export interface LetterBody {
  readonly headers: Readonly<Record<string, string>> | null;
  readonly body: Buffer;
}
