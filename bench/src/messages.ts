/** What a bench and its child processes say to each other. Times are of the machine-wide monotonic clock, in nanoseconds. */
export type FromProcess =
  | { readonly kind: "loaded" }
  | { readonly kind: "joined" }
  | Elected
  | { readonly kind: "steppingDown"; readonly at: bigint }
  /** A peer leads, or a bare session has the lock. */
  | { readonly kind: "leads"; readonly at: bigint }
  | { readonly kind: "waiting" }
  | { readonly kind: "running" }
  | { readonly kind: "stopped"; readonly commits: number }
  | { readonly kind: "failed"; readonly reason: string };

export interface Elected {
  readonly kind: "elected";
  readonly nodeId: string;
  readonly epoch: bigint;
  /** When the event came. */
  readonly at: bigint;
  /** What the acquires that led to it took, from sending to reply. */
  readonly acquireMs: number;
}

export type ToProcess =
  | { readonly kind: "join"; readonly schema: string; readonly nodeIds: readonly string[]; readonly serves: boolean }
  | { readonly kind: "stepDown"; readonly nodeId: string; readonly to?: string }
  | { readonly kind: "contend"; readonly key: number }
  | { readonly kind: "run" }
  | { readonly kind: "stop" };

export const roleName = "scheduler";
