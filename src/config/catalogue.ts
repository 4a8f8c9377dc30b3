import { databaseHost, listenHost, publicUrl } from "./addresses.js";
import { allowedHosts, httpAddress, notifyTargets } from "./notify-target.js";
import {
  duration,
  environmentSecret,
  flag,
  integer,
  listOf,
  matching,
  oneOf,
  seconds,
  secret,
  someOf,
  text,
  wideInteger,
} from "./setting.js";
import { alertColumns, cronColumns } from "./tables.js";

/** What a node may do beside leading. */
const nodeRoles = ["gateway", "function", "worker", "scheduler"] as const;

const capability = /^[A-Za-z0-9][A-Za-z0-9._:/-]{0,62}$/;
const capabilitiesMustBe =
  'a list of names of 1 to 63 of the characters A-Z, a-z, 0-9, ".", "_", ":", "/" and "-", each at most once';

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
    url: secret("postgres://user@host:port/database, or the parts below. Never printed."),
    electionUrl: secret(
      "A direct connection for beats and locks, where url goes through a pooler. Without it a crash behind a pooler costs the lease TTL.",
    ),
    server: databaseHost("Host of the database server, or the directory of its socket."),
    port: integer(5432, { min: 1, max: 65_535 }, "Port of the database server."),
    database: text("", "Name of the database."),
    username: text("", "Role to log in as."),
    password: environmentSecret("Password of that role. Never printed, and not taken from a file."),
    schema: matching(
      "holdfast",
      /^[a-z_][a-z0-9_]{0,62}$/,
      '1 to 63 of the characters a-z, 0-9 and "_" that start with no digit',
      "Belongs to one cluster name; a second is refused.",
    ),
    poolSize: integer(
      5,
      { min: 1, max: 1_000 },
      "Connections for fenced transactions and reads; at least 2 in a cluster. A node needs more than these: see below.",
    ),
    leaseTtlSeconds: seconds(
      60,
      { min: 1, max: 86_400 },
      "How long a claim of a queue holds unless it is renewed. Too short, and a slow worker loses what it works on.",
    ),
    migrate: oneOf(["auto", "check"], '"check" refuses to start on an old schema, with the command to run.'),
    tls: oneOf(["verify-full", "require", "disable"], '"disable" is for loopback only, and the default there.'),
    tlsCa: text("", "File with the certificate authority of the server."),
    dataDir: text(".holdfast", "Directory of the embedded server."),
  },
  cluster: {
    enabled: flag(false, "Whether several nodes share the schema. Needs a server database and a pool of at least 2."),
    name: matching(
      "default",
      /^(?=\S)[^\p{C}]{1,200}(?<=\S)$/u,
      "1 to 200 printable characters, without spaces around them",
      "Name of the cluster.",
    ),
    nodeId: matching(
      "",
      /^$|^(?=\S)[\x20-\x7e]{1,200}(?<=\S)$/,
      "at most 200 printable characters of ASCII, without spaces around them",
      "Name of this node; host:pid:hex when empty. Two living processes of one name: the second is refused.",
    ),
    primaryRole: matching(
      "",
      /^$|^[a-z0-9_-]{1,63}$/,
      'a role name of 1 to 63 of the characters a-z, 0-9, "_" and "-"',
      'The role that "the leader" means where no role is named; scheduler when empty.',
    ),
    heartbeatSeconds: seconds(1, { min: 0.05, max: 3_600 }, "How often a node beats, jittered by 20 %."),
    nodeTimeoutSeconds: seconds(
      5,
      { min: 0.1, max: 86_400 },
      "A node not heard of for this long is dead. Above the heartbeat.",
    ),
    leaderFenceTimeoutSeconds: seconds(
      3.5,
      { min: 0.1, max: 86_400 },
      "How long a leader trusts a confirmed renewal, from its sending. Too short, and a slow database costs the role.",
    ),
    leaderLeaseTtlSeconds: seconds(
      5,
      { min: 0.2, max: 86_400 },
      "How long the lease runs: what a stall or a partition costs. heartbeat < fence < ttl, with margin.",
    ),
    reclaimIntervalSeconds: seconds(
      30,
      { min: 0.1, max: 86_400 },
      "How often the leader of a queue looks for claims that have run out.",
    ),
    markDeadNodes: flag(true, "Whether this node marks nodes as dead that are no longer heard of."),
    forgetAfter: duration("24h", "How long the rows of nodes that left or died are kept."),
    acquireDelaySeconds: seconds(
      0,
      { min: 0, max: 86_400 },
      "This node asks for an open lease only so much later, and is nobody's heir: failover to it is never fast.",
    ),
    promotable: flag(true, "false: stays a standby; a step-down may still name it."),
    minNodes: integer(1, { min: 1, max: 10_000 }, "A node is ready only while at least this many are active."),
    roles: someOf(nodeRoles, "What this node does. Without gateway it serves only health, role, cluster and metrics."),
    capabilities: listOf<string>([], capabilitiesMustBe, "What kinds of jobs this node can work on.", (item) =>
      typeof item === "string" && capability.test(item) ? { value: item } : { mustBe: capabilitiesMustBe },
    ),
    leaderElection: {
      enabled: flag(true, "false: a pure follower, never contends, not even by request."),
      takeover: oneOf(["evidence", "lease"], '"lease": a crash, too, is waited out for the TTL.'),
      evidenceGrace: duration("0ms", "Failover takes so much longer, and needs no assumption about connections."),
      onStall: oneOf(
        ["depose", "hold"],
        '"hold": a stalled leader keeps the role as long as its session lives, and nobody acts until it wakes.',
      ),
    },
  },
  shutdown: {
    drainTimeoutSeconds: seconds(
      30,
      { min: 0, max: 86_400 },
      "How long work may take to stop before the lease is left to run out.",
    ),
    pollIntervalMs: integer(
      100,
      { min: 1, max: 60_000 },
      "How often a drain looks at work that is counted elsewhere (`node.work.also`); the end of all other work is told.",
    ),
  },
  api: {
    host: listenHost("127.0.0.1", "Address to listen on. Off loopback a token is needed, and TLS or insecure_http."),
    port: integer(7400, { min: 0, max: 65_535 }, "Port to listen on; 0 takes any that is free."),
    publicUrl: publicUrl(
      "Where other nodes and clients reach this one; published with the lease. A serving node falls back to http(s)://hostname:port.",
    ),
    tlsCert: text("", "File with the certificate, with tls_key."),
    tlsKey: text("", "File with the key of that certificate."),
    insecureHttp: flag(
      false,
      "Allows plain HTTP off loopback: tokens and payloads can be read on the way. For a network that encrypts by itself.",
    ),
  },
  jobs: {
    leaderWorks: flag(false, "Whether the leader of scheduler is assigned jobs although other nodes are active."),
    drainGraceSeconds: seconds(
      5,
      { min: 0, max: 86_400 },
      "How long a draining leader still takes results of its term; at the most 2 s less than shutdown.drain_timeout_seconds.",
    ),
    maxAttempts: integer(5, { min: 1, max: 1_000 }, "After so many attempts a job is dead."),
    backoff: duration("1s", "Pause before the second attempt. It doubles with each further one, up to 5m."),
    timeout: duration("1h", "How long an attempt may take."),
  },
  crons: { kind: "tables", columns: cronColumns, doc: "Jobs that the leader of scheduler enqueues by the clock." },
  supervisor: {
    moonlight: flag(false, "Whether the agent beside a controller works while that controller is a standby."),
  },
  retention: {
    bodiesDays: integer(
      30,
      { min: 0, max: 36_500 },
      "How long finished messages are kept; 0 keeps them. What is not finished always stays.",
    ),
    historyDays: integer(
      90,
      { min: 0, max: 36_500 },
      "How long the history of elections and of crons is kept; 0 keeps it.",
    ),
    jobsDays: integer(
      7,
      { min: 0, max: 36_500 },
      "How long jobs that succeeded or were cancelled are kept, and their ids and keys with them; 0 keeps them.",
    ),
    deadJobsDays: integer(
      30,
      { min: 0, max: 36_500 },
      "How long jobs that failed for good or are dead can be redriven; 0 keeps them.",
    ),
    eventsDays: integer(
      7,
      { min: 0, max: 36_500 },
      "How long events are kept: a reader that comes back later has to begin anew; 0 keeps them.",
    ),
    auditDays: integer(365, { min: 0, max: 36_500 }, "How long the audit is kept, at least 30; 0 keeps it."),
  },
  log: {
    level: oneOf(
      ["trace", "debug", "info", "warn", "error", "fatal", "silent"],
      "What is logged: this level and above.",
      "info",
    ),
    format: oneOf(["json", "pretty"], '"pretty" is for people, and the default on a terminal.'),
  },
  metrics: {
    prefix: matching(
      "holdfast_",
      /^$|^[A-Za-z_:][A-Za-z0-9_:]{0,63}$/,
      'at most 64 of the characters A-Z, a-z, 0-9, "_" and ":" that start with no digit',
      "Prefix of every metric's name.",
    ),
  },
  alerting: {
    enabled: flag(
      true,
      "Whether this node evaluates the rules when it is its turn, and tells those who are to be told.",
    ),
    defaults: flag(
      true,
      "Whether the rules that come with Holdfast are on. One of [[alerts]] of the same name replaces it.",
    ),
    interval: duration(
      "5s",
      "How often the rules are evaluated, by one node for all, and how often a node leaves its metrics for that.",
    ),
    notify: notifyTargets("Who is told by the rules that come with Holdfast. The log always is."),
  },
  alerts: { kind: "tables", columns: alertColumns, doc: "Rules, and who is told when one holds." },
  notify: {
    slack: {
      webhookUrl: environmentSecret("Address of the incoming webhook. Whoever knows it can post."),
    },
    pagerduty: {
      routingKey: environmentSecret("Key of the integration that events go to."),
      url: httpAddress("https://events.pagerduty.com/v2/enqueue", "Where events go; another for a proxy, or the EU's."),
    },
    webhook: {
      secret: environmentSecret("Signs what is sent to webhooks (HMAC-SHA256); without it nothing is signed."),
      allow: allowedHosts(
        "Hosts, addresses and networks that webhooks may reach although they are not public: loopback, private, link-local.",
      ),
    },
  },
  roles: {
    kind: "named",
    placeholder: "<role>",
    pattern: /^[a-z0-9_-]{1,63}$/,
    mustBe: '1 to 63 of the characters a-z, 0-9, "_" and "-"',
    doc: "What a role may be given beside the rest.",
    each: {
      lockKey: wideInteger(
        "Pins the key of the role's advisory lock; a hash of schema, cluster and role by default. The same on every node, and another for every role.",
      ),
    },
  },
} as const;

export type Catalogue = typeof catalogue;
