import type { MemoryQueueTables } from "../../../src/store/memory/queue-tables.js";
import type { BookRequest } from "./request.js";

/** What a transaction sees. */
export interface Within {
  readonly tables: MemoryQueueTables;
  readonly now: () => number;
}

/** Where the simulator can be made to run a broken queue. The sources know nothing of it. */
export interface QueueHooks {
  readonly tables?: new (now: () => number) => MemoryQueueTables;
  readonly ignoresFence?: boolean;
  /** The database does something else than it was asked for. */
  readonly rewrite?: (request: BookRequest) => BookRequest;
  /** Within the transaction, before and after what it does. */
  readonly before?: (request: BookRequest, within: Within) => void;
  readonly after?: (request: BookRequest, within: Within) => void;
  /** Appends are answered when they are sent. */
  readonly answersAppendsEarly?: boolean;
  /** Appends of several messages commit one by one, in any order. */
  readonly scattersAppends?: boolean;
}
