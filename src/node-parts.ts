import type { Logger } from "pino";
import type { Registry } from "prom-client";
import type { Config } from "./config/config.js";
import type { Clock } from "./election/clock.js";
import type { NodeReport } from "./membership/node-row.js";
import type { Store } from "./store/contract.js";

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
