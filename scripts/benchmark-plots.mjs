/** Which figures of each bench are drawn, and how. A figure that was not measured is left out. */

const ours = (figure, label, extras = {}) => ({ figure, label, ...extras });
const theirs = (figure, label, extras = {}) => ({ figure, label, peer: true, ...extras });

const filters = [
  "none",
  "time",
  "time_without_match",
  "connection",
  "connection_without_match",
  "type",
  "type_without_match",
  "control_id",
  "control_id_without_match",
  "status_processed",
  "status_sent",
  "status_filtered",
  "status_unrouted",
  "status_error",
  "common_word",
  "rare_word",
  "word_of_one",
  "word_without_match",
  "word_and_type",
  "word_and_status",
];

export const benchmarkPlots = {
  failover: {
    title: "How long nobody leads",
    says: "The median of the time from the kill, the call or the freeze to the next leader. The scale is logarithmic: each line is ten times the one before.",
    panels: [
      {
        heading: "after a crash of the leader",
        unit: "ms",
        logarithmic: true,
        bars: [
          theirs("bare_session_p50", "a bare session and a lock (floor)"),
          ours("crash_failover_p50", "Holdfast, p50"),
          ours("crash_failover_p95", "Holdfast, p95"),
          theirs("etcd_shortest_ttl_crash_failover_p50", "etcd, its shortest lease"),
          theirs("lock_poller_crash_failover_p50", "advisory lock, tried every 5 s"),
          theirs("row_lease_crash_failover_p50", "row lease of 15 s"),
          theirs("etcd_default_ttl_crash_failover_p50", "etcd, its default lease"),
        ],
      },
      {
        heading: "after a clean hand-over, and a leader that is frozen",
        unit: "ms",
        logarithmic: true,
        bars: [
          ours("step_down_p50", "Holdfast, step-down"),
          theirs("etcd_resign_p50", "etcd, resignation"),
          ours("stall_failover_max", "Holdfast, frozen leader (longest)", { factor: 1000 }),
        ],
      },
    ],
  },
  gate: {
    title: "What a gate check costs",
    says: "One call, beside the two clock reads that the answer needs.",
    panels: [
      {
        heading: "one call",
        unit: "ns",
        bars: [
          theirs("clock_reads", "the two clock reads"),
          ours("gate_is_leader", "isLeader"),
          ours("gate_require_leader", "requireLeader()"),
          ours("gate_ensure_epoch", "ensureEpoch()"),
          ours("gate_is_leader_on_standby", "isLeader on a standby"),
        ],
      },
    ],
  },
  fence: {
    title: "What the fence leaves of the rate",
    says: "Fenced transactions a second over unfenced ones on the same connections. 1 would be free.",
    panels: [
      {
        heading: "fenced over unfenced",
        unit: "x",
        bars: [
          ours("fence_rate_ratio_1_rows", "1 row, 8 clients"),
          ours("fence_rate_ratio_1_rows_1_clients", "1 row, 1 client"),
          ours("fence_rate_ratio_1_rows_4_clients", "1 row, 4 clients"),
          ours("fence_rate_ratio_1_rows_16_clients", "1 row, 16 clients"),
          ours("fence_rate_ratio_50_rows", "50 rows, 8 clients"),
          ours("fence_rate_ratio_50_rows_1_clients", "50 rows, 1 client"),
          ours("fence_rate_ratio_50_rows_4_clients", "50 rows, 4 clients"),
          ours("fence_rate_ratio_50_rows_16_clients", "50 rows, 16 clients"),
          ours("fence_rate_ratio_50_statements", "50 statements, 8 clients"),
        ],
      },
      {
        heading: "the acquire of a takeover",
        unit: "ms",
        bars: [
          ours("fence_takeover_with_none", "with nobody in the way"),
          ours("fence_takeover_with_16_clients", "while 16 clients commit"),
        ],
      },
    ],
  },
  scale: {
    title: "What a crowd of standbys costs",
    says: "A crash with few and with many standbys, and the statements of nodes at rest.",
    panels: [
      {
        heading: "crash failover, p50",
        unit: "ms",
        bars: [
          ours("scale_crash_failover_p50_2_standbys", "2 standbys"),
          ours("scale_crash_failover_p50_200_standbys", "200 standbys"),
          ours("scale_standbys_crash_failover_p50", "as many as fit", { count: "scale_standbys" }),
        ],
      },
      {
        heading: "statements a standby a beat",
        unit: "statements",
        bars: [
          ours("cluster_50_statements_per_beat", "50 nodes with metrics"),
          ours("statements_per_standby_beat", "200 standbys"),
          ours("scale_standbys_statements_per_beat", "as many as fit", { count: "scale_standbys" }),
        ],
      },
    ],
  },
  queue: {
    title: "Messages through a queue",
    says: "Bodies of 1 kB in batches of 500, taken in and worked off, with the same durability for all.",
    panels: [
      {
        heading: "end to end",
        unit: "messages/s",
        bars: [
          ours("queue_rate", "Holdfast, 100 ordered lanes"),
          ours("queue_one_lane_rate", "Holdfast, one ordered lane"),
          ours("queue_10000_lanes_rate", "Holdfast, 10,000 ordered lanes"),
          ours("queue_three_stages_rate", "Holdfast, three stages"),
          theirs("graphile_worker_rate", "graphile-worker, unordered"),
          theirs("pg_boss_rate", "pg-boss, unordered"),
          theirs("graphile_worker_ordered_rate", "graphile-worker, ordered"),
        ],
      },
      {
        heading: "a new leader's first delivery, after `elected`",
        unit: "ms",
        bars: [
          ours("queue_recovery_with_a_thousand", "a backlog of a thousand"),
          ours("queue_recovery_with_a_million", "a backlog of a million"),
        ],
      },
    ],
  },
  jobs: {
    title: "Jobs over HTTP",
    says: "Payloads of 1 kB over HTTP with leases of 64, beside pg-boss that reaches the database directly.",
    panels: [
      {
        heading: "rate",
        unit: "jobs/s",
        bars: [
          ours("jobs_rate", "Holdfast, submitted and worked off"),
          theirs("pg_boss_rate", "pg-boss, the same"),
          ours("jobs_submit_rate", "Holdfast, submitted"),
          theirs("pg_boss_enqueue_rate", "pg-boss, submitted"),
          ours("jobs_work_rate", "Holdfast, worked off"),
          theirs("pg_boss_process_rate", "pg-boss, worked off"),
        ],
      },
      {
        heading: "over pg-boss",
        unit: "x",
        bars: [ours("jobs_ratio_to_pg_boss", "submitted and worked off")],
      },
      {
        heading: "until an agent that waits has a job",
        unit: "ms",
        bars: [
          ours("jobs_pick_up_p50", "p50"),
          ours("jobs_pick_up_p95", "p95"),
          ours("jobs_pick_up_p50_1000_agents", "p50 while 1,000 agents wait"),
        ],
      },
    ],
  },
  engine: {
    title: "Messages through the engine",
    says: "MLLP in, router, handler, MLLP out, acknowledged after the commit on both sides; and the message browser over a million messages.",
    panels: [
      {
        heading: "end to end",
        unit: "messages/s",
        bars: [
          ours("engine_one_interface_rate", "one interface, 20 senders"),
          ours("engine_50_interfaces_rate", "50 interfaces, 50 senders"),
        ],
      },
      {
        heading: "first page of a search",
        unit: "ms",
        bars: filters.map((name) => ours(`engine_search_${name}`, name.replaceAll("_", " "))),
      },
    ],
  },
  footprint: {
    title: "What a node takes before it does anything",
    says: "Memory at rest, time to the first answer, and what an install brings.",
    panels: [
      {
        heading: "resident memory",
        unit: "MB",
        bars: [
          theirs("bare_process_rss", "a bare process of Node"),
          ours("idle_node_rss", "createNode in a cluster"),
          ours("idle_serve_rss", "holdfast serve in a cluster"),
        ],
      },
      {
        heading: "start-up",
        unit: "ms",
        bars: [
          ours("create_node_to_elected_p50", "createNode to elected"),
          ours("serve_start_up_p50", "serve to its first answer"),
          ours("serve_start_up_to_leader_p50", "serve to LEADER"),
          ours("serve_first_start_up", "serve on an empty database"),
        ],
      },
      {
        heading: "installed",
        unit: "MB",
        bars: [
          ours("package_installed_size", "Holdfast"),
          ours("package_installed_size_without_embedded", "Holdfast without its PostgreSQL"),
          theirs("pg_boss_installed_size", "pg-boss"),
          theirs("graphile_worker_installed_size", "graphile-worker"),
        ],
      },
      {
        heading: "packages that come along",
        unit: "packages",
        bars: [
          ours("package_dependencies", "Holdfast"),
          theirs("pg_boss_dependencies", "pg-boss"),
          theirs("graphile_worker_dependencies", "graphile-worker"),
        ],
      },
    ],
  },
};

export const soakPanels = [
  { heading: "memory of the leader", unit: "MB", curves: { rss: "resident", heap: "heap after a collection" } },
  {
    heading: "open things",
    unit: "count",
    curves: { descriptors: "descriptors of the nodes", sessions: "sessions of the server" },
  },
  { heading: "dead rows of all tables", unit: "rows", curves: { dead_tuples: "dead rows" } },
  { heading: "p99 of each 5 s", unit: "ms", curves: { queue_p99: "queue", jobs_p99: "jobs", feed_p99: "MLLP feed" } },
];
