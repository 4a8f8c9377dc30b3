import type { Logger } from "pino";
import type { Registry } from "prom-client";
import type { Config } from "./config/config.js";
import type { Clock } from "./election/clock.js";
import type { ErrorCode } from "./errors.js";
import type { NodeReport } from "./membership/node-row.js";
import type { Store } from "./store/contract.js";

/** How long a start waits for a database that is away, or for a predecessor whose sessions still linger. */
export const startPatience = { answerMs: 10_000, predecessorMs: 2_000 } as const;

/** No retry mends these: another process has this node's place, or its database. */
export const lastingFailures: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "SCHEMA_IN_USE",
  "NODE_ID_TAKEN",
  "SCHEMA_TOO_NEW",
]);

/** What a node is made of; the tests bring a store in memory and a clock of their own. */
export interface NodeParts<Tx> {
  readonly config: Config;
  readonly report: NodeReport;
  readonly store: Store<Tx>;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
  readonly registry: Registry;
  /** Runs after everything else has been closed. */
  readonly afterClose: () => Promise<void>;
}
