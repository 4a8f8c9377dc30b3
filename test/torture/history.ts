/**
 * What happened in a run, as JSON lines: one event a line, in the order of writing, on one clock. Every time is CLOCK_MONOTONIC in
 * milliseconds (`process.hrtime`), which all processes of a machine share, and which faketime leaves alone. An act has a beginning
 * and an end (`from`, `to`), since it took place somewhere between. An outcome that nobody knows is kept as unknown.
 */
export type Outcome =
  /** Acknowledged: whoever asked was told so. */
  | "done"
  /** Not done, and will not be: the answer said so. `code` tells why. */
  | "refused"
  /** No answer, or one that leaves it open. It may have been done, or be done later. */
  | "unknown";

export const faultKinds = [
  "kill",
  "freeze",
  "freeze_in_transaction",
  "block_loop",
  "partition",
  "partition_to_database",
  "partition_from_database",
  "reply_lost_after_commit",
  "slow_database",
  "restart_fast",
  "restart_immediate",
  "database_failover",
  "terminate_lock_session",
  "terminate_listener",
  "terminate_worker",
  "pooler_restart",
  "connections_exhausted",
  "disk_full",
  "clock_jump",
  "duplicate_requests",
  "flood",
  "slow_clients",
] as const;

export type FaultKind = (typeof faultKinds)[number];

/** Who wrote the event: "node-3", "sink", "sender", "orchestrator" ... A node that is started anew gets a new name. */
interface Written {
  readonly by: string;
  readonly at: number;
}

/** An act that took place between `from` and `to`. */
interface Act extends Written {
  readonly from: number;
  readonly to: number;
}

/** The first line: what this run was, and the bounds that its checkers go by. */
export interface RunEvent extends Written {
  readonly kind: "run";
  readonly seed: number;
  readonly commit: string;
  readonly minutes: number;
  readonly faults: readonly FaultKind[];
  readonly ttlMs: number;
  readonly fenceMs: number;
  /** Of the queue: so many messages of a lane may come again after one failover. */
  readonly batch: number;
  /** Longest time without a leader that a fault which is over may leave behind. */
  readonly longestGapMs: number;
}

export interface ProcessEvent extends Written {
  readonly kind: "process";
  readonly what: "started" | "ended";
  readonly pid: number;
  /** Of "ended": the signal or exit code. */
  readonly how?: string;
}

/** A fault begins, and ends. `lostFrom`: what was acknowledged since then may be gone, because a replica without it took over. */
export interface FaultEvent extends Written {
  readonly kind: "fault";
  readonly fault: FaultKind;
  readonly number: number;
  readonly phase: "begin" | "end";
  readonly on: string;
  readonly point?: string;
  readonly lostFrom?: number;
}

export interface LeadershipEvent extends Written {
  readonly kind: "elected" | "lost";
  readonly role: string;
  readonly epoch: string;
  readonly reason?: string;
}

/** A look at an open gate, from before it was asked to after it answered. */
export interface GateEvent extends Act {
  readonly kind: "gate";
  readonly role: string;
  readonly epoch: string;
}

/**
 * A read-modify-write under the role: `before` was read, `after` was written. It is told as unknown before its commit is sent, since
 * a killed process tells nothing more, and once more when the outcome is known: the same (epoch, before, after, from).
 */
export interface WriteEvent extends Act {
  readonly kind: "write";
  readonly role: string;
  readonly epoch: string;
  readonly before: number | null;
  readonly after: number | null;
  readonly outcome: Outcome;
  readonly code?: string;
}

/** A row of the second witness, which a trigger wrote within the transaction of the write. `n` is the order in which they took the lock. */
export interface WitnessEvent extends Written {
  readonly kind: "witness";
  readonly n: number;
  readonly role: string;
  readonly epoch: string;
  readonly before: number;
  readonly after: number;
}

/** An effect at an outside system. The checking one refuses an epoch below the highest it has seen; the trusting one takes all. */
export interface EffectEvent extends Written {
  readonly kind: "effect";
  readonly sink: "checking" | "trusting";
  readonly node: string;
  readonly role: string;
  readonly epoch: string;
  /** When the gate was asked by the sender, just before it sent. */
  readonly gateAt: number;
  readonly accepted: boolean;
}

export interface EnqueueEvent extends Act {
  readonly kind: "enqueue";
  readonly lane: string;
  readonly numbers: readonly number[];
  readonly outcome: Outcome;
  readonly code?: string;
}

/** The call of a handler, told before the handler returned. `failed`: it then throws, so that its message is tried again. */
export interface DeliveryEvent extends Written {
  readonly kind: "delivery";
  readonly stage: string;
  readonly lane: string;
  readonly number: number;
  readonly position: number;
  readonly epoch: string;
  readonly attempt: number;
  readonly failed?: boolean;
}

/** A leader that stays has lost track of what was claimed or finished, and said so: up to a batch of each lane may come again. */
export interface LostTrackEvent extends Written {
  readonly kind: "lost_track";
  readonly role: string;
  readonly epoch: string;
}

export interface SubmitEvent extends Act {
  readonly kind: "submit";
  readonly key: string;
  readonly outcome: Outcome;
  readonly id?: string;
  readonly code?: string;
}

/**
 * An agent had a task in hand, or reported it; `replay`: the same report once more, on purpose. `attempt` is the job_epoch of the
 * lease. `result` is what was reported, as JSON; "failed" where the work was said to have failed.
 */
export interface TaskEvent extends Act {
  readonly kind: "task";
  readonly what: "leased" | "reported";
  readonly agent: string;
  readonly job: string;
  readonly attempt: number;
  readonly outcome: Outcome;
  readonly replay: boolean;
  readonly result?: string;
  readonly code?: string;
}

/** A job as the database shows it in the end. */
export interface JobEvent extends Written {
  readonly kind: "job";
  readonly job: string;
  readonly key: string;
  readonly state: string;
  readonly attempt: number;
  readonly result: string | null;
}

/** A tick of a cron as the database shows it in the end. `job` is null where it was passed over. */
export interface TickEvent extends Written {
  readonly kind: "tick";
  readonly cron: string;
  readonly second: number;
  readonly job: string | null;
}

/** `goesTo`: the outbounds that it is meant for; all that its sender's messages came to, where it is left out. */
export interface MllpSentEvent extends Act {
  readonly kind: "mllp_sent";
  readonly sender: string;
  readonly controlId: string;
  readonly number: number;
  readonly tries: number;
  readonly outcome: Outcome;
  readonly goesTo?: readonly string[];
}

export interface MllpReceivedEvent extends Written {
  readonly kind: "mllp_received";
  readonly outbound: string;
  readonly sender: string;
  readonly controlId: string;
  readonly number: number;
  readonly intact: boolean;
}

/** What a node answered about itself. `primary`: it says that it leads. */
export interface PollEvent extends Act {
  readonly kind: "poll";
  readonly node: string;
  readonly role: string;
  readonly outcome: Outcome;
  readonly primary?: boolean;
  readonly epoch?: string;
}

/**
 * An event that a reader of a stream of events got, or that the store holds in the end (`reader` is "store"). Ids of stream "jobs" are
 * `<generation>-<number>`. `what`: no event, but where the reader was told that it stands, when it began ("hello", also each time that it
 * came back) or when the stream could not go on after its last id ("reset").
 */
export interface StreamEvent extends Written {
  readonly kind: "stream";
  readonly stream: string;
  readonly reader: string;
  readonly id: string;
  readonly what?: "hello" | "reset";
}

/** Resources before the load, and after all of it. */
export interface ResourceEvent extends Written {
  readonly kind: "resources";
  readonly when: "baseline" | "during" | "after";
  readonly of: string;
  readonly rssBytes?: number;
  readonly heapBytes?: number;
  readonly descriptors?: number;
  readonly sessions?: number;
}

/** A refusal that a fault is meant to provoke: STALE_EPOCH, NOT_LEADER, 503 ... as whoever was refused saw it. */
export interface RejectionEvent extends Written {
  readonly kind: "rejection";
  readonly code: string;
}

export type HistoryEvent =
  | RunEvent
  | ProcessEvent
  | FaultEvent
  | LeadershipEvent
  | GateEvent
  | WriteEvent
  | WitnessEvent
  | EffectEvent
  | EnqueueEvent
  | DeliveryEvent
  | LostTrackEvent
  | SubmitEvent
  | TaskEvent
  | JobEvent
  | TickEvent
  | MllpSentEvent
  | MllpReceivedEvent
  | PollEvent
  | StreamEvent
  | ResourceEvent
  | RejectionEvent;
