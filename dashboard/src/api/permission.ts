/** What a caller may do, as the node tells it in the session. */
export type Permission =
  | "monitoring:read"
  | "control"
  | "replay"
  | "jobs:write"
  | "agent"
  | "config"
  | "tokens"
  | "audit:read"
  | "messages:read";
