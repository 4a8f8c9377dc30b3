import type { Json } from "../jobs/core/job.js";
import type { FenceToken } from "./fence-token.js";

/** What is to be known of the engine's connections on every node, and by the next leader. */
export interface ConnectionBook {
  all(): Promise<readonly ConnectionRow[]>;
  /** Somebody stops a connection, or starts it again (null). It stays so, whoever leads. */
  setStopped(fence: FenceToken, name: string, stopped: Stopped | null): Promise<void>;
  /** How the leader's connections are doing. Those that it does not name any more are forgotten, unless somebody stopped them. */
  tell(fence: FenceToken, reports: readonly ConnectionReport[]): Promise<void>;
}

export interface Stopped {
  readonly by: string;
  readonly reason: string;
}

export interface ConnectionReport {
  readonly name: string;
  /** As the leader of that epoch last saw it. */
  readonly state: Json;
}

export interface ConnectionRow {
  readonly name: string;
  readonly stopped: (Stopped & { readonly at: number }) | null;
  readonly state: Json;
  /** Of the leader that told it; null where none has yet. */
  readonly epoch: number | null;
  /** When it was told, in milliseconds since 1970, by the database's clock. */
  readonly toldAt: number | null;
}
