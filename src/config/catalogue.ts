import { duration, flag, integer, list, oneOf, type Setting, seconds, text } from "./setting.js";

/**
 * Every setting there is, by section, with its default and its meaning. Names are written as the library takes them;
 * `holdfast.toml` and the environment use the same names in snake_case. Types, checks, errors and the reference all come
 * from this table.
 */
export const catalogue = {
  store: {
    backend: oneOf(
      ["embedded", "postgres"],
      'Where the state lives; "postgres" as soon as url, server or a pool is given.',
    ),
    url: text("", "postgres://user@host:port/database, or the parts below."),
    electionUrl: text("", "A direct connection for beats and locks, where url goes through a pooler."),
    server: text("", "Host of the database server."),
    port: integer(5432, { min: 1, max: 65_535 }, "Port of the database server."),
    database: text("", "Name of the database."),
    username: text("", "Role to log in as."),
    password: text("", "Password of that role. Never printed."),
    schema: text("holdfast", "Belongs to one cluster name; a second is refused."),
    poolSize: integer(
      5,
      { min: 1, max: 1_000 },
      "Connections for fenced transactions and reads; at least 2 in a cluster.",
    ),
    migrate: oneOf(["auto", "check"], '"check" refuses to start on an old schema, with the command to run.'),
    tls: oneOf(["verify-full", "require", "disable"], '"disable" is for loopback only, and the default there.'),
    tlsCa: text("", "File with the certificate authority of the server."),
    dataDir: text(".holdfast", "Directory of the embedded server."),
  },
  cluster: {
    enabled: flag(false, "Whether several nodes share the schema. Needs a server database and a pool of at least 2."),
    name: text("default", "Name of the cluster."),
    nodeId: text("", "Name of this node; host:pid:hex when empty."),
    heartbeatSeconds: seconds(1, { min: 0.05, max: 3_600 }, "How often a node beats, jittered by 20 %."),
    nodeTimeoutSeconds: seconds(
      5,
      { min: 0.1, max: 86_400 },
      "A node not heard of for this long is dead. Above the heartbeat.",
    ),
    leaderFenceTimeoutSeconds: seconds(
      3.5,
      { min: 0.1, max: 86_400 },
      "How long a leader trusts a confirmed renewal, from its sending.",
    ),
    leaderLeaseTtlSeconds: seconds(
      5,
      { min: 0.2, max: 86_400 },
      "How long the lease runs. heartbeat < fence < ttl, with margin.",
    ),
    acquireDelaySeconds: seconds(0, { min: 0, max: 86_400 }, "This node asks for an open lease only so much later."),
    promotable: flag(true, "false: stays a standby; a step-down may still name it."),
    roles: list(["gateway", "function", "worker", "scheduler"], "What this node does."),
    leaderElection: {
      enabled: flag(true, "false: a pure follower, never contends, not even by request."),
      takeover: oneOf(["evidence", "lease"], '"lease": a crash, too, is waited out for the TTL.'),
      evidenceGrace: duration("0ms", "Failover takes so much longer, and needs no assumption about connections."),
      onStall: oneOf(["depose", "hold"], '"hold": a stalled leader keeps the role as long as its session lives.'),
    },
  },
  shutdown: {
    drainTimeoutSeconds: seconds(
      30,
      { min: 0, max: 86_400 },
      "How long work may take to stop before the lease is left to run out.",
    ),
  },
  api: {
    publicUrl: text("", "Where other nodes and clients reach this one; published with the lease."),
  },
  metrics: {
    prefix: text("holdfast_", "Prefix of every metric's name."),
  },
} as const;

export type Catalogue = typeof catalogue;

/** A section's values, all of them. */
export type Values<Section> = {
  readonly [Key in keyof Section]: Section[Key] extends Setting<infer Value> ? Value : Values<Section[Key]>;
};

/** A section as a user gives it: any part of it. */
export type Given<Section> = {
  readonly [Key in keyof Section]?:
    | (Section[Key] extends Setting<infer Value> ? Value : Given<Section[Key]>)
    | undefined;
};

/** Names of the systems that this design comes from. They are not accepted; the error says ours. */
export const foreignNames: Readonly<Record<string, string>> = {
  check_interval: "cluster.heartbeat_seconds",
  lease_duration: "cluster.leader_lease_ttl_seconds",
  refresh_interval: "cluster.heartbeat_seconds",
  lock_timeout: "cluster.leader_fence_timeout_seconds",
  dead_threshold: "cluster.node_timeout_seconds",
  drain_timeout: "shutdown.drain_timeout_seconds",
  heartbeat_interval_ms: "cluster.heartbeat_seconds",
  heartbeat_late_threshold_ms: "cluster.leader_fence_timeout_seconds",
  acquire_backoff_ms_min: "cluster.acquire_delay_seconds",
  acquire_backoff_ms_max: "cluster.acquire_delay_seconds",
  epoch_stale_threshold_ms: "cluster.node_timeout_seconds",
  leader_lock_key: "roles.<role>.lock_key",
  pg_listen_channel: "cluster.name",
  pg_conn_string: "store.url",
  msp_leader_enabled: "cluster.leader_election.enabled",
};
