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
