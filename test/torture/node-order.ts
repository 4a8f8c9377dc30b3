import type { NodeOptions } from "../../src/node.js";

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** What the workloads want of every node process, as far as they are part of the run; what is left out is not done. */
export interface NodeTask {
  /** Role "writer": reads, adds one and writes, again and again, and tells the sinks. */
  readonly writer: {
    readonly table: string;
    /** Between two writes. */
    readonly everyMs: number;
    /** Where effects are sent to. */
    readonly sinks: { readonly checking: string; readonly trusting: string };
  };
  /** Role "queue": a queue of two stages, fed through the service's own port. */
  readonly queue: { readonly name: string; readonly batch: number; readonly concurrency: number };
  /** Role "scheduler": jobs, and a cron of each second. */
  readonly jobs: { readonly crons: boolean };
  /** Role "engine": by place, the folder of its graph. */
  readonly graphs: Readonly<Record<string, string>>;
}

/** The one argument of node.mjs, as JSON. */
export interface NodeOrder {
  /** Of the process: "a-1", then "a-2" where it was replaced. It is the node's id, and `by` of all that it tells. */
  readonly name: string;
  readonly place: string;
  /** The folder of the built package: that of this repository, or of a sabotaged copy. */
  readonly dist: string;
  /** It appends its own events here, a line each. */
  readonly historyPath: string;
  /** Its log. */
  readonly logPath: string;
  readonly settings: Omit<NodeOptions, "logger" | "registry">;
  /** What the service around the node binds. */
  readonly service: Address;
  readonly task: Partial<NodeTask>;
}

/**
 * Where a process can be told to stop or to die: at the next time that it comes by.
 *
 * before_transaction: a write was decided on, its transaction has not begun.  in_transaction: the old value was read, the new one is
 * not written.  in_own_transaction: the same, in a session that Holdfast knows nothing of, so that the fence alone is in the way.
 * before_commit: it is written; the epoch is not asserted.  after_commit: it is acknowledged, and nobody was told.
 * in_gate: the gate was asked, the effect is not sent.  in_handler: a delivery is told, and not settled.  before_ack: messages are
 * committed, and their sender was not told.  at_elected, at_lost: right when a role was won or lost.
 */
export const points = [
  "before_transaction",
  "in_transaction",
  "in_own_transaction",
  "before_commit",
  "after_commit",
  "in_gate",
  "in_handler",
  "before_ack",
  "at_elected",
  "at_lost",
] as const;

export type Point = (typeof points)[number];

/** What node.mjs obeys, over IPC. Each gets a `reply` of the same id. */
export type NodeCommand =
  /** Sends itself this signal when it next comes to the point, and says `reached` just before. */
  | { readonly command: "at_point"; readonly point: Point; readonly signal: "SIGSTOP" | "SIGKILL" }
  | { readonly command: "forget_points" }
  /** Keeps its event loop busy. The reply comes afterwards. */
  | { readonly command: "block"; readonly ms: number }
  /** Puts a line about its own resources on record. */
  | { readonly command: "resources"; readonly when: "baseline" | "during" | "after" }
  /** The roles that it leads right now, by its gates. */
  | { readonly command: "leads" }
  | { readonly command: "step_down"; readonly role: string }
  /** Leaves in order, and ends. */
  | { readonly command: "close" };

export type NodeReport =
  | { readonly kind: "started" }
  | { readonly kind: "failed"; readonly code: string; readonly message: string }
  | { readonly kind: "elected" | "lost"; readonly role: string; readonly epoch: string }
  | { readonly kind: "reached"; readonly point: Point }
  | {
      readonly kind: "reply";
      readonly id: number;
      readonly value?: unknown;
      readonly error?: { readonly code: string; readonly message: string };
    };
