/** An agent as it is seen. Times are milliseconds since 1970, by the database's clock. */
export interface Agent {
  readonly name: string;
  readonly namespace: string;
  readonly capabilities: readonly string[];
  readonly version: string | null;
  /** How many tasks it said it works on. */
  readonly tasks: number;
  readonly firstSeen: number;
  readonly lastHeartbeat: number;
  /** How long ago that was, by the database's clock. */
  readonly silentMs: number;
  /** Since when it is a tombstone. */
  readonly deletedAt: number | null;
}

export type AgentState = "active" | "stale" | "dead" | "deleted";

/** By the database's clock alone. `staleMs` is less than `deadMs`. */
export function agentState(
  { silentMs, deletedAt }: Pick<Agent, "silentMs" | "deletedAt">,
  { staleMs, deadMs }: { readonly staleMs: number; readonly deadMs: number },
): AgentState {
  if (deletedAt !== null) return "deleted";
  if (silentMs < staleMs) return "active";
  return silentMs < deadMs ? "stale" : "dead";
}
