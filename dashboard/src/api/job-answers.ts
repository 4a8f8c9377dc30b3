/** What the API tells of jobs, of the agents that take them, and of the crons that submit them. */

export const jobStates = ["queued", "leased", "succeeded", "failed", "dead", "cancelled"] as const;
export type JobState = (typeof jobStates)[number];

export interface Job {
  job_id: string;
  op: string;
  namespace: string;
  state: JobState;
  priority: number;
  attempts: number;
  max_attempts: number;
  job_epoch: number;
  leader_epoch: number;
  agent: string | null;
  progress: unknown;
  result: unknown;
  error: string | null;
  created_at: number;
  updated_at: number;
  run_at: number | null;
  timeout_ms: number;
  capabilities: string[];
  pinned_agent: string | null;
  idempotency_key: string | null;
  cron: string | null;
}

export interface ChangedJob {
  job_id: string;
  state: JobState;
  leader_epoch: number;
}

export const agentStates = ["active", "stale", "dead", "deleted"] as const;
export type AgentState = (typeof agentStates)[number];

export interface Agent {
  agent: string;
  namespace: string;
  state: AgentState;
  capabilities: string[];
  tasks: number;
  version: string | null;
  first_seen: number;
  last_heartbeat: number;
  deleted_at: number | null;
}

export interface Cron {
  name: string;
  schedule: string;
  time_zone: string;
  op: string;
  missed: "skip" | "coalesce" | "catch_up";
  catch_up_max: number | null;
  paused: boolean;
  source: "settings" | "code";
  generation: number;
  last_tick: number;
  next_tick: number | null;
  gone_at: number | null;
}

export interface Tick {
  id: string;
  tick: number;
  decided_at: number;
  kind: "fired" | "coalesced" | "skipped" | "triggered";
  missed: number;
  job_id: string | null;
}

export interface Triggered {
  name: string;
  job_id: string;
  leader_epoch: number;
}
