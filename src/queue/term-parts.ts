import type { Clock } from "../election/clock.js";
import type { FenceToken } from "../store/contract.js";
import type { QueueBook } from "../store/queue-contract.js";
import type { QueueConduct } from "./conduct.js";
import type { JournalingHandler, RunnableHandler } from "./handler-call.js";
import type { QueueSettings } from "./queue-settings.js";

/** What everything that works for a queue during one term needs. */
export interface QueueTermParts {
  readonly settings: QueueSettings;
  readonly book: QueueBook;
  readonly fence: FenceToken;
  /** Aborted when leadership ends or is being given up. */
  readonly signal: AbortSignal;
  /** Throws unless this term may act at this very moment. */
  readonly requireLeader: () => void;
  readonly handlers: ReadonlyMap<string, RunnableHandler | JournalingHandler>;
  readonly conduct: QueueConduct;
  readonly clock: Clock;
  readonly random: () => number;
  /** A number that no claim of this process has had: what an earlier one still has to say, also of this epoch, is not heard. */
  readonly nextClaim: () => number;
  /** The lanes have been read, and messages are taken in. */
  readonly opened: () => void;
  readonly trouble: (what: string, error: unknown) => void;
  /** Something that no retry mends: the term has to be given up. */
  readonly failed: (error: unknown) => void;
}
