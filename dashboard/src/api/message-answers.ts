/** What the API tells of messages and of the connections that they come and go by. */

export const messageStatuses = ["received", "routed", "processed", "sent", "filtered", "unrouted", "error"] as const;

export interface Message {
  id: string;
  received_at: number;
  connection: string;
  type: string;
  control_id: string;
  size: number;
  replay_of: string | null;
  statuses: string[];
}

interface Place {
  stage: string;
  lane: string;
  position: number;
}

export interface Step extends Place {
  step: number;
  kind: string;
  at: number;
  detail: unknown;
  has_body: boolean;
}

export interface AccountLetter extends Place {
  id: string;
  reason: string;
  attempts: number;
  died_at: number;
  redriven_at: number | null;
}

export interface Account extends Message {
  ack: string | null;
  steps: Step[];
  pending: Place[];
  dead_letters: AccountLetter[];
}

export interface Sent {
  id: string;
  connection: string;
  duplicate: boolean;
  malformed: string | null;
}

export interface Replay {
  id: string;
  replay_of: string;
}

export interface Replays {
  dry_run: boolean;
  matched: string[];
  replayed: number;
  items: { id: string | null; replay_of: string; error?: string; message?: string }[];
  left: string[];
  next_cursor: string | null;
}

export interface SteeredConnection {
  name: string;
  direction: "inbound" | "outbound";
  transport: string;
  state: "running" | "starting" | "stopped" | "failed";
  reason: string | null;
  since: number | null;
  connections: number;
}

export interface Connection extends SteeredConnection {
  told_at: number | null;
  waiting: number;
  errors: number;
  /** Over all nodes and restarts. */
  counts: { received: number; unrouted: number; filtered: number; processed: number; sent: number; error: number };
  counts_at: number | null;
}

export interface Reload {
  dry_run: boolean;
  version: number;
  hash: string;
  changed: boolean;
  added: string[];
  removed: string[];
  warnings: string[];
}

export interface NodeConfig {
  node_id: string;
  status: string;
  version: number;
  hash: string;
  error: string | null;
  converged: boolean;
}

export interface ReferenceSet {
  name: string;
  version: number | null;
  rows: number | null;
  published_at: number | null;
  error: string | null;
  failed_at: number | null;
}

export interface ConfigVersion {
  version: number;
  node_id: string;
  node_version: number | null;
  hash: string | null;
  converged: boolean;
  nodes: NodeConfig[];
  references: ReferenceSet[];
}
