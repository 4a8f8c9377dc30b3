import type { Logger } from "pino";
import type { Gate } from "../election/gate.js";
import type { LeaderTerm } from "../election/term.js";
import type { QueueNode } from "../queue/queue.js";
import type { ConnectionBook } from "../store/connection-contract.js";
import type { EngineBook } from "../store/engine-contract.js";
import type { EngineMetrics } from "../telemetry/engine-metrics.js";
import type { Loaded } from "./config-folder/config-folder.js";
import type { Convergence } from "./convergence.js";
import type { InboundDefinition, OutboundDefinition } from "./definition.js";
import type { ReferenceBuilder } from "./reference-builder.js";
import type { Arrival, Destination, Receipt, Source } from "./transports/transport.js";

/** What the engine needs of a term of its role. */
export type EngineLeaderTerm = Pick<LeaderTerm<unknown>, "fence" | "signal" | "require">;

/** What the engine needs of its node. A `HoldfastNode` is one. */
export interface EngineNode extends QueueNode {
  role(name: string): {
    readonly gate: Pick<Gate, "requireLeader" | "ensureEpoch">;
    lead(fn: (term: EngineLeaderTerm) => Promise<void>): void;
  };
  readonly log: Logger;
}

/** What the engine is made of. */
export interface EngineParts {
  readonly node: EngineNode;
  readonly book: EngineBook;
  readonly connectionBook: ConnectionBook;
  readonly loaded: Loaded;
  readonly openSource: (inbound: InboundDefinition, accept: Accept) => Source;
  readonly openDestination: (outbound: OutboundDefinition) => Destination;
  readonly references: ReferenceBuilder;
  readonly metrics: EngineMetrics;
  /** Null keeps the journal for ever. */
  readonly historyMs: number | null;
  /** How long a router or a handler may take for a message that an earlier leader may have gone down with. */
  readonly doubtfulMs: number;
  /** Which configuration runs here. */
  readonly convergence: () => Pick<Convergence, "isBehind" | "heard">;
}

/** Takes in what a source has received; what `ack` answers is kept as the reply. */
export type Accept = (arrival: Arrival, ack: (receipt: Receipt) => Buffer | null) => Promise<Receipt>;
