import type { LaneFilter, SeenLane, SeenStage } from "../queue/seen-lane.js";
import type { LetterBody, LetterFilter, SeenLetter } from "../queue/seen-letter.js";

/**
 * What any process may see of all queues, whoever leads: each reading is of one moment, and none of them locks anything or
 * shows the body of a message that nobody asked for by its id.
 */
export interface QueueView {
  /** In the order in which they came to be. */
  lanes(filter: LaneFilter): Promise<readonly SeenLane[]>;
  /** Of all queues by their name, the stages of each in the order in which they came to be. Asks as much as there are lanes with work. */
  stages(): Promise<readonly SeenStage[]>;
  /** Newest first. */
  deadLetters(filter: LetterFilter): Promise<readonly SeenLetter[]>;
  deadLetter(id: string): Promise<SeenLetter | null>;
  deadLetterBody(id: string): Promise<LetterBody | null>;
  /** For how long the oldest unfinished message of the queue has been there; null where there is none. */
  oldestMs(queue: string): Promise<number | null>;
}
