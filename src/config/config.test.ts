import { describe, expect, it } from "vitest";
import { HoldfastError } from "../errors.js";
import { type ConfigOptions, resolveConfig } from "./config.js";

const url = "postgres://localhost/app";

const refusal = (options: unknown): string => {
  try {
    resolveConfig(options as ConfigOptions, false);
    return "";
  } catch (error) {
    expect(error).toBeInstanceOf(HoldfastError);
    expect((error as HoldfastError).code).toBe("BAD_SETTINGS");
    return (error as HoldfastError).message;
  }
};

describe("settings", () => {
  it("default to a single node on the embedded server", () => {
    const config = resolveConfig({}, false);
    expect(config).toMatchObject({
      backend: "embedded",
      cluster: { enabled: false, name: "default" },
      insistsOnEvidence: false,
    });
    expect(Object.isFrozen(config) && Object.isFrozen(config.cluster.leaderElection)).toBe(true);
  });

  it("mean PostgreSQL as soon as a server is named", () => {
    expect(resolveConfig({ store: { url } }, false).backend).toBe("postgres");
    expect(resolveConfig({ store: { server: "db" } }, false).backend).toBe("postgres");
  });

  it("tell evidence that was asked for from evidence by default", () => {
    const asked = { cluster: { leaderElection: { takeover: "evidence" } } } as const;
    expect(resolveConfig(asked, false).insistsOnEvidence).toBe(true);
  });

  it.each([
    [
      { store: { backend: "sqlserver" } },
      'store.backend = "sqlserver" does not exist yet: use "postgres", or "embedded" to try things out.',
    ],
    [
      { store: { backend: "postgres" } },
      'store.backend = "postgres" needs store.url, or store.server with database and username.',
    ],
    [
      { cluster: { enabled: true } },
      "cluster.enabled = true needs a server database that the nodes share: set store.url (HOLDFAST_STORE_URL), which has no value now.",
    ],
    [
      { store: { url, poolSize: 1 }, cluster: { enabled: true } },
      "store.pool_size (1) must be at least 2 in a cluster: reads would wait behind a transaction.",
    ],
    [
      { store: { backend: "embedded", url } },
      'store.backend = "embedded" takes no url, server or pool: leave them out, or set backend = "postgres".',
    ],
    [{ store: { urll: url } }, "store.urll is not a setting. Did you mean store.url?"],
    [
      { cluster: { heartbeatSecond: 1 } },
      "cluster.heartbeat_second is not a setting. Did you mean cluster.heartbeat_seconds?",
    ],
    [{ clusters: {} }, "clusters is not a setting. Did you mean cluster?"],
    [
      { cluster: { leaseDuration: 1 } },
      "cluster.lease_duration is not a setting here: ours is cluster.leader_lease_ttl_seconds.",
    ],
    [
      { cluster: { HEARTBEAT_INTERVAL_MS: 1 } },
      "cluster.heartbeat_interval_ms is not a setting here: ours is cluster.heartbeat_seconds.",
    ],
    [
      { cluster: { heartbeatSeconds: "1" } },
      'cluster.heartbeat_seconds must be a number of seconds from 0.05 to 3600, not "1".',
    ],
    [
      { cluster: { heartbeatSeconds: Number.NaN } },
      "cluster.heartbeat_seconds must be a number of seconds from 0.05 to 3600, not NaN.",
    ],
    [
      { cluster: { leaderElection: { takeover: "luck" } } },
      'cluster.leader_election.takeover must be one of "evidence", "lease", not "luck".',
    ],
    [
      { cluster: { leaderElection: { evidenceGrace: "soon" } } },
      'cluster.leader_election.evidence_grace must be a duration like "500ms", "5s" or "1m", not "soon".',
    ],
    [
      { store: { url, schema: 'x"; drop' } },
      'store.schema must be 1 to 63 of the characters a-z, 0-9 and "_" that start with no digit, not "x\\"; drop".',
    ],
    [
      { roles: { scheduler: { lockKey: 1.5 } } },
      "roles.scheduler.lock_key must be a whole number of 64 bits, not 1.5.",
    ],
    [
      { roles: { scheduler: { key: 1 } } },
      "roles.scheduler.key is not a setting. Did you mean roles.scheduler.lock_key?",
    ],
    [{ store: "postgres://x" }, "store must be a section of settings."],
    [7, "the options must be a section of settings."],
    [{ cluster: { heartbeat_seconds: 1 } }, "cluster.heartbeat_seconds is written heartbeatSeconds here."],
    [{ cluster: { constructor: 1 } }, /^cluster\.constructor is not a setting\. Did you mean cluster\.[a-z_]+\?$/],
    [
      { store: { url, server: "db" } },
      "store.url says where the database is, and so does store.server: leave one of them out.",
    ],
    [{ store: { url: "db:5432" } }, "store.url is not a URL like postgres://user@host:5432/database."],
    [{ store: { url: "http://db/app" } }, "store.url is not a URL like postgres://user@host:5432/database."],
    [
      { store: { url, electionUrl: "nowhere" } },
      "store.election_url is not a URL like postgres://user@host:5432/database.",
    ],
    [
      { store: { electionUrl: url } },
      'store.backend = "embedded" takes no url, server or pool: leave them out, or set backend = "postgres".',
    ],
    [
      { store: { server: "postgres://u:p@db" } },
      "store.server must be a host name, an address, or the directory of a socket.",
    ],
    [
      { cluster: { minNodes: 3 } },
      "cluster.min_nodes (3) needs cluster.enabled = true: a single node would never be ready.",
    ],
    [{ cluster: { minNodes: 0 } }, "cluster.min_nodes must be a whole number from 1 to 10000, not 0."],
    [
      { cluster: { forgetAfter: "4s" } },
      "cluster.forget_after (4s) must not be below cluster.node_timeout_seconds (5): a node would be forgotten before it is called dead.",
    ],
    [
      { cluster: { nodeTimeoutSeconds: 1 } },
      "cluster: node_timeout_seconds (1) must be above heartbeat_seconds (1): a healthy node would be called dead between two beats.",
    ],
    [
      { jobs: { drainGraceSeconds: 10 }, shutdown: { drainTimeoutSeconds: 5 } },
      "jobs.drain_grace_seconds (10) must not be above shutdown.drain_timeout_seconds (5): the node would be gone before the grace is over.",
    ],
    [
      { shutdown: { drainTimeoutSeconds: 1, pollIntervalMs: 2000 } },
      "shutdown.poll_interval_ms (2000) must not be above shutdown.drain_timeout_seconds (1): a drain would never see that it is done.",
    ],
    [{ jobs: { timeout: "0s" } }, "jobs.timeout must be longer than 0."],
    [{ jobs: { backoff: "0ms" } }, "jobs.backoff must be longer than 0."],
    [{ api: { tlsCert: "/c.pem" } }, "api.tls_cert needs api.tls_key: set both, or neither."],
    [{ api: { tlsKey: "/k.pem" } }, "api.tls_key needs api.tls_cert: set both, or neither."],
    [
      { api: { host: "127.0.0.1:80" } },
      'api.host must be an address or a host name, without a port, not "127.0.0.1:80".',
    ],
    [{ api: { port: -1 } }, "api.port must be a whole number from 0 to 65535, not -1."],
    [{ metrics: { prefix: "9-x" } }, /^metrics\.prefix must be at most 64 of .+, not "9-x"\.$/],
    [{ log: { level: "verbose" } }, /^log\.level must be one of "trace", .+, "silent", not "verbose"\.$/],
    [{ cluster: { primaryRole: "The One" } }, /^cluster\.primary_role must be a role name .+, not "The One"\.$/],
    [{ cluster: { capabilities: ["a b"] } }, /^cluster\.capabilities must be a list of names .+, not \["a b"\]\.$/],
    [{ cluster: { capabilities: ["a", "a"] } }, /each at most once, not \["a", "a"\]\.$/],
    [{ cluster: { roles: ["worker", "sheduler"] } }, /\. Did you mean "scheduler"\?$/],
  ])("refuse %o in one line", (options, said) => {
    const refused = refusal(options);
    if (typeof said === "string") expect(refused).toBe(said);
    else expect(refused).toMatch(said);
    expect(refused).not.toContain("\n");
  });

  it.each(["cluster.name", "cluster.node_id"])("limit %s to 200 printable characters", (path) => {
    const key = path === "cluster.name" ? "name" : "nodeId";
    for (const good of ["a", "a b", "x".repeat(200), "host:1:ab/c"])
      expect(refusal({ cluster: { [key]: good } })).toBe("");
    for (const bad of ["x".repeat(201), "a\nb", "a\u0000", "a\u200b", " a", "a ", "\u001b[1m"]) {
      expect(refusal({ cluster: { [key]: bad } })).toMatch(new RegExp(`^${path} must be `));
    }
  });

  it("take a cluster's name in any script, but a node's in ASCII, since headers carry it", () => {
    expect(refusal({ cluster: { name: "höhle-東京" } })).toBe("");
    expect(refusal({ cluster: { nodeId: "höhle" } })).toContain("ASCII");
  });

  it.each([
    ["http://10.0.0.5:7400", true],
    ["https://a.example/base", true],
    ["http://[::1]:7400", true],
    ["ftp://a", false],
    ["a:7400", false],
    ["http://", false],
    ["http://user:pass@a", false],
    ["http://user@a", false],
    ["http://a/?token=x", false],
    ["http://a/#x", false],
    ["http://a b", false],
  ])("judge api.public_url = %s", (publicUrl, fits) => {
    const said = "api.public_url must be an http or https URL without credentials, query and fragment.";
    expect(refusal({ api: { publicUrl } })).toBe(fits ? "" : said);
  });

  it.each([
    [{ url: "postgres://db.example/app?sslmode=disable" }, "store.url"],
    [{ url: "postgres://db.example/app?sslmode=prefer" }, "store.url"],
    [{ url: "postgres://db.example/app", tls: "disable" }, "store.url"],
    [{ url: "postgres://127.0.0.1.evil.example/app", tls: "disable" }, "store.url"],
    [{ url: "postgres://localhost/app?host=db.example", tls: "disable" }, "store.url"],
    [{ server: "db.example", tls: "disable" }, "store.server"],
    [
      { url: "postgres://localhost/app", electionUrl: "postgres://db.example/app", tls: "disable" },
      "store.election_url",
    ],
  ])("keep %o from crossing a network unencrypted", (store, name) => {
    expect(refusal({ store })).toBe(
      `store.tls = "disable", or sslmode=disable, is for a server on this machine, and ${name} names another: use "verify-full" or "require".`,
    );
  });

  it.each([
    { url: "postgres://localhost/app", tls: "disable" },
    { url: "postgres://127.1.2.3/app?sslmode=disable" },
    { url: "postgres://[::1]:5432/app", tls: "disable" },
    { url: "postgres://%2Fvar%2Frun/app", tls: "disable" },
    { url: "postgres:///app?host=/var/run", tls: "disable" },
    { server: "/var/run/postgresql", tls: "disable" },
    { server: "::1", tls: "disable" },
    { url: "postgres://db.example/app?sslmode=disable", tls: "verify-full" },
    { url: "postgres://db.example/app?sslmode=require" },
  ])("let %o through", (store) => {
    expect(refusal({ store })).toBe("");
  });

  it("name the primary role, or mean the scheduler", () => {
    expect(resolveConfig({}, false).primaryRole).toBe("scheduler");
    expect(resolveConfig({ cluster: { primaryRole: "engine" } }, false).primaryRole).toBe("engine");
  });

  it("are told all at once", () => {
    expect(refusal({ api: { port: "a" }, jobs: { max: 1 }, store: { poolSize: 0 } }).split("\n")).toHaveLength(3);
  });

  it("are frozen, all the way down", () => {
    const config = resolveConfig(
      {
        crons: [{ name: "a", schedule: "* * * * *", op: "x", payload: { deep: [{ er: 1 }] } }],
        alerts: [{ name: "a", condition: "up == 0", notify: ["pagerduty", "webhook:https://a.example/x"] }],
        cluster: { capabilities: ["gpu"] },
        roles: { scheduler: { lockKey: 1 } },
      },
      false,
    );
    const melted: string[] = [];
    const visit = (value: unknown, path: string): void => {
      if (typeof value !== "object" || value === null) return;
      if (!Object.isFrozen(value)) melted.push(path);
      for (const [key, inner] of Object.entries(value)) visit(inner, `${path}.${key}`);
    };
    visit(config, "config");
    expect(melted).toEqual([]);
    expect(config.lockKeys).not.toHaveProperty("set");
  });

  it("do not follow their maker's later changes", () => {
    const payload = { a: [1] };
    const capabilities = ["gpu"];
    const crons = [{ name: "a", schedule: "* * * * *", op: "x", payload }];
    const config = resolveConfig({ crons, cluster: { capabilities } }, false);
    payload.a.push(2);
    capabilities.push("tpu");
    expect(config.crons[0]?.payload).toEqual({ a: [1] });
    expect(config.cluster.capabilities).toEqual(["gpu"]);
  });

  it("never show a password", () => {
    expect(refusal({ store: { password: 12_345 } })).toBe("store.password must be a text.");
  });

  it("take a role's lock key as a number or a bigint", () => {
    const { lockKeys } = resolveConfig({ roles: { scheduler: { lockKey: 0x464f_5247_0001 } } }, false);
    expect([...lockKeys]).toEqual([["scheduler", 0x464f_5247_0001n]]);
  });
});
