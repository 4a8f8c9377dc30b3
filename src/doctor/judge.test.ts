import { expect, test } from "vitest";
import { deriveTiming } from "../election/core/timing.js";
import type { Expectations } from "./expectations.js";
import type { ClockSample, ClusterFacts, Facts, Reach, SchemaFacts, ServerFacts } from "./facts.js";
import { checks } from "./finding.js";
import { judge } from "./judge.js";
import { synchronousNeeded } from "./settings-check.js";
import { readClocks } from "./time-check.js";

const timing = deriveTiming({
  heartbeatMs: 1_000,
  fenceMs: 3_500,
  ttlMs: 5_000,
  nodeTimeoutMs: 5_000,
  acquireDelayMs: 0,
  evidenceGraceMs: 0,
  drainTimeoutMs: 30_000,
});

const expected: Expectations = {
  schema: "holdfast",
  cluster: "default",
  primaryRole: "scheduler",
  codeVersion: 2,
  migrate: "check",
  timing,
  poolSize: 5,
  minNodes: 1,
  takeover: "evidence",
  insistsOnEvidence: false,
  historyDays: 90,
};

type Reached = Extract<Reach, { kind: "reached" }>;

const reached: Reached = {
  kind: "reached",
  path: "direct",
  encrypted: true,
  local: false,
  user: "node",
  database: "1/5",
  inRecovery: false,
};

/** Answers after `trip` ms, half of it on the way there, from a clock that is ahead by `ahead` and runs at `rate`. */
function clock({ trip = 2, ahead = 0, rate = 1 } = {}): readonly ClockSample[] {
  return Array.from({ length: 12 }, (_, sample) => {
    const sentMono = 10_000 + sample * 100;
    const receivedMono = sentMono + trip;
    const databaseWall = 1_000_000 + ahead + (sample * 100 + trip / 2) * rate;
    return { sentMono, receivedMono, receivedWall: 1_000_000 + sample * 100 + trip, databaseWall };
  });
}

const server: ServerFacts = {
  versionNumber: 160_004,
  version: "16.4",
  inRecovery: false,
  superuser: false,
  settings: new Map(),
  watchesClients: true,
  connections: { max: 100, reserved: 3, used: 20, ofHoldfast: 10, roleLimit: -1, databaseLimit: -1 },
  clock: clock(),
  commits: { kind: "measured", ms: [3, 4, 5] },
  horizon: { oldest: null, xminAge: 100, prepared: [], slots: [], freezeAge: 50_000_000 },
  standbys: null,
};

const schema: SchemaFacts = {
  exists: true,
  owner: "migrator",
  owns: false,
  mayCreate: false,
  version: 2,
  oldestCode: 2,
  cluster: "default",
  lacking: [],
  identity: "1/00000001",
};

const cluster: ClusterFacts = {
  nodes: [
    { nodeId: "a", status: "active", heartbeatAgeMs: 500 },
    { nodeId: "b", status: "left", heartbeatAgeMs: 500_000 },
  ],
  leases: [{ role: "scheduler", epoch: 7n, holder: "a", remainingMs: 4_000, identity: "1/00000001" }],
  historyBytes: 16_384,
  logins: ["node"],
};

const good: Facts = { main: reached, election: null, server, schema, cluster };

const withServer = (change: Partial<ServerFacts>): Facts => ({ ...good, server: { ...server, ...change } });
const withSchema = (change: Partial<SchemaFacts>): Facts => ({ ...good, schema: { ...schema, ...change } });
const withCluster = (change: Partial<ClusterFacts>): Facts => ({ ...good, cluster: { ...cluster, ...change } });
const withSetting = (name: string, value: string): Facts =>
  withServer({ settings: new Map([[name, { value, source: "user" }]]) });
const withConnections = (change: Partial<ServerFacts["connections"]>): Facts =>
  withServer({ connections: { ...server.connections, ...change } });
const withHorizon = (change: Partial<ServerFacts["horizon"]>): Facts =>
  withServer({ horizon: { ...server.horizon, ...change } });
const lease = (change: Partial<ClusterFacts["leases"][number]>): Facts =>
  withCluster({ leases: cluster.leases.map((row) => ({ ...row, ...change })) });

const complaints = (facts: Facts, wishes: Partial<Expectations> = {}) =>
  judge(facts, { ...expected, ...wishes }).filter(({ verdict }) => verdict !== "ok");

test("where all is well every check says so, once, in its order", () => {
  const findings = judge(good, expected);
  expect(findings.map(({ check }) => check)).toEqual(checks);
  expect(findings.filter(({ verdict }) => verdict !== "ok")).toEqual([]);
});

const cases: readonly (readonly [string, Facts, string, Partial<Expectations>?])[] = [
  ["a server before 14", withServer({ versionNumber: 130_011, version: "13.11" }), "database problem"],
  ["a server before 15", withServer({ versionNumber: 140_011, version: "14.11" }), "database warning"],
  ["a pooler", { ...good, main: { ...reached, path: "pooled" } }, "pooler warning"],
  [
    "a pooler where evidence is a must",
    { ...good, main: { ...reached, path: "pooled" } },
    "pooler problem",
    { insistsOnEvidence: true },
  ],
  ["a pooler before election_url", { ...good, election: { ...reached, path: "pooled" } }, "pooler warning"],
  ["a proxy", { ...good, main: { ...reached, path: "proxied" } }, "pooler warning"],
  ["an unencrypted network", { ...good, main: { ...reached, encrypted: false } }, "tls problem"],
  ["an unencrypted way of elections", { ...good, election: { ...reached, encrypted: false } }, "tls problem"],
  ["an old schema of somebody else's", withSchema({ version: 1, oldestCode: 1 }), "schema problem"],
  [
    "an old schema that a node will migrate",
    withSchema({ version: 1, oldestCode: 1, owns: true }),
    "schema warning",
    { migrate: "auto" },
  ],
  [
    "an old schema that a node may not migrate",
    withSchema({ version: 1, oldestCode: 1 }),
    "schema problem",
    { migrate: "auto" },
  ],
  ["a newer schema", withSchema({ version: 3, oldestCode: 3 }), "schema problem"],
  ["another cluster", withSchema({ cluster: "theirs" }), "schema problem"],
  ["a missing right", withSchema({ lacking: ["update on leases"] }), "permissions problem"],
  ["an identity that cannot be read", withSchema({ identity: null }), "timeline warning"],
  ["a lease of another database", lease({ identity: "1/00000002" }), "timeline warning"],
  ["clocks that are far apart", withServer({ clock: clock({ ahead: 90_000 }) }), "clocks warning"],
  ["a clock that runs fast", withServer({ clock: clock({ rate: 1.05 }) }), "clocks problem"],
  ["a slow network", withServer({ clock: clock({ trip: 400 }) }), "timings warning"],
  ["a very slow network", withServer({ clock: clock({ trip: 800 }) }), "timings problem"],
  ["a slow disk", withServer({ commits: { kind: "measured", ms: [300, 400, 500] } }), "timings warning"],
  ["commits that hang", withServer({ commits: { kind: "late", afterMs: 2_300 } }), "timings problem"],
  ["too few connections", withConnections({ used: 100 }), "connections problem"],
  ["hardly enough connections", withConnections({ used: 98 }), "connections warning"],
  ["a limit of the role", withConnections({ roleLimit: 4 }), "connections problem"],
  ["a limit of the database", withConnections({ databaseLimit: 4 }), "connections problem"],
  ["a pool that is larger than the server", good, "connections problem", { poolSize: 200 }],
  [
    "a transaction left open",
    withHorizon({ oldest: { pid: 7, user: "app", seconds: 7_200, state: "idle" } }),
    "xmin_horizon warning",
  ],
  ["an old snapshot of nobody we may see", withHorizon({ xminAge: 20_000_000 }), "xmin_horizon warning"],
  ["a forgotten prepared transaction", withHorizon({ prepared: [{ gid: "x", seconds: 600 }] }), "xmin_horizon warning"],
  [
    "an unused slot",
    withHorizon({ slots: [{ name: "s", active: false, xminAge: 20_000_000 }] }),
    "xmin_horizon warning",
  ],
  ["a database that nears wraparound", withHorizon({ freezeAge: 1_900_000_000 }), "xmin_horizon problem"],
  ["fsync off", withSetting("fsync", "off"), "settings warning"],
  ["synchronous_commit off", withSetting("synchronous_commit", "off"), "settings warning"],
  ["autovacuum off", withSetting("autovacuum", "off"), "settings warning"],
  ["track_activities off", withSetting("track_activities", "off"), "settings warning"],
  ["a short statement_timeout", withSetting("statement_timeout", "200"), "settings warning"],
  ["a short idle_session_timeout", withSetting("idle_session_timeout", "5000"), "settings warning"],
  ["a server that cannot watch its clients", withServer({ watchesClients: false }), "settings warning"],
  [
    "a missing synchronous standby",
    withServer({ standbys: { names: "ANY 2 (a, b)", synchronous: 1 } }),
    "settings problem",
  ],
  ["a role without a leader", lease({ holder: null, remainingMs: -60_000 }), "cluster problem"],
  ["another role without a leader", lease({ role: "engine", holder: "a", remainingMs: -60_000 }), "cluster warning"],
  ["an election under way", lease({ remainingMs: -200 }), "cluster warning"],
  ["nodes of two logins", withCluster({ logins: ["a", "b"] }), "cluster warning"],
  ["an epoch near its end", lease({ epoch: 2n ** 53n - 1n }), "cluster problem"],
  ["a huge history", withCluster({ historyBytes: 5e9 }), "cluster warning"],
];

for (const [what, facts, verdict, wishes] of cases) {
  test(`${what}: ${verdict}, with what to do about it`, () => {
    const found = complaints(facts, wishes);
    expect(found.map((finding) => `${finding.check} ${finding.verdict}`)).toEqual([verdict]);
    expect(found[0]?.advice).toMatch(/\w{2,}/);
  });
}

const vacant = cluster.leases.map((row) => ({ ...row, holder: null, remainingMs: -60_000 }));

const fine: readonly (readonly [string, Facts, Partial<Expectations>?])[] = [
  [
    "a pooler where crashes are waited out anyway",
    { ...good, main: { ...reached, path: "pooled" } },
    { takeover: "lease" },
  ],
  ["a pooler that elections go past", { ...good, main: { ...reached, path: "pooled" }, election: reached }],
  ["no encryption on this machine", { ...good, main: { ...reached, encrypted: false, local: true } }],
  ["a schema that is newer and compatible", withSchema({ version: 3, oldestCode: 2 })],
  ["a role without a leader where nobody runs", withCluster({ nodes: [], leases: vacant })],
  ["a generous statement_timeout", withSetting("statement_timeout", "30000")],
  ["standbys that this role may not see", withServer({ standbys: { names: "a", synchronous: null } })],
  ["a clock whose rate a slow answer hides", withServer({ clock: clock({ rate: 1.02, trip: 100 }) })],
];

for (const [what, facts, wishes] of fine) {
  test(`${what}: nothing to complain of`, () => {
    expect(complaints(facts, wishes)).toEqual([]);
  });
}

test("a dead node is named, whether or not anybody has marked it as dead", () => {
  for (const status of ["active", "dead", "draining", "unheard of"]) {
    const nodes = [...cluster.nodes, { nodeId: "silent", status, heartbeatAgeMs: 60_000 }];
    expect(complaints(withCluster({ nodes }))).toEqual([
      expect.objectContaining({ verdict: "warning", message: expect.stringContaining('"silent" is dead') }),
    ]);
  }
});

test("too few nodes are told", () => {
  expect(complaints(good, { minNodes: 2 })).toEqual([
    expect.objectContaining({
      check: "cluster",
      verdict: "warning",
      message: expect.stringContaining("min_nodes is 2"),
    }),
  ]);
});

test("of a database that is away nothing but that is said", () => {
  const away: Facts = {
    main: { kind: "failed", reason: "away", said: "connect ECONNREFUSED" },
    election: null,
    server: null,
    schema: null,
    cluster: null,
  };
  expect(judge(away, expected)).toEqual([
    expect.objectContaining({
      check: "database",
      verdict: "problem",
      message: expect.stringContaining("ECONNREFUSED"),
    }),
  ]);
});

test("clocks are read by the quickest answers, and how far they can be trusted with them", () => {
  const slow = clock({ ahead: 50 }).map((sample, index) =>
    index % 2 === 0
      ? { ...sample, receivedMono: sample.receivedMono + 80, receivedWall: sample.receivedWall + 80 }
      : sample,
  );
  const reading = readClocks(slow);
  expect(reading?.differenceMs).toBeCloseTo(-50);
  expect(reading?.uncertainMs).toBe(1);
  expect(Math.abs(reading?.rate ?? 1)).toBeLessThan(1e-9);
  expect(readClocks([])).toBeNull();
});

test("how many synchronous standbys a commit waits for is read from their names", () => {
  expect(["", "a", "a, b", "2 (a, b)", "FIRST 2 (a, b, c)", "any 1 (*)"].map(synchronousNeeded)).toEqual([
    0, 1, 1, 2, 2, 1,
  ]);
});
