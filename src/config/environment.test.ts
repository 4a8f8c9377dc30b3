import { describe, expect, it } from "vitest";
import { everySetting, laidOpen, loadText, refusalOf } from "../../test/support/settings.js";
import { describeConfig } from "./describe-config.js";
import { environmentName } from "./environment-name.js";
import { foreignNames } from "./foreign-names.js";
import type { LoadedConfig } from "./load-config.js";

/** For every setting a value other than its default, as a file and as the environment write it. */
const samples: Readonly<Record<string, readonly [toml: string, text: string]>> = {
  "store.backend": ['"postgres"', "postgres"],
  "store.url": ['"postgres://u:p@localhost/app"', "postgres://u:p@localhost/app"],
  "store.election_url": ['"postgres://localhost:6000/app"', "postgres://localhost:6000/app"],
  "store.server": ['"db"', "db"],
  "store.port": ["6432", "6432"],
  "store.database": ['"app"', "app"],
  "store.username": ['"me"', "me"],
  "store.schema": ['"other"', "other"],
  "store.pool_size": ["7", "7"],
  "store.lease_ttl_seconds": ["12.5", "12.5"],
  "store.migrate": ['"check"', "check"],
  "store.tls": ['"require"', "require"],
  "store.tls_ca": ['"/ca.pem"', "/ca.pem"],
  "store.data_dir": ['"/var/lib/holdfast"', "/var/lib/holdfast"],
  "cluster.enabled": ["true", "1"],
  "cluster.name": ['"blue, green"', "blue, green"],
  "cluster.node_id": ['"a"', "a"],
  "cluster.primary_role": ['"engine"', "engine"],
  "cluster.heartbeat_seconds": ["0.5", "0.5"],
  "cluster.node_timeout_seconds": ["8", "8"],
  "cluster.leader_fence_timeout_seconds": ["3", "3"],
  "cluster.leader_lease_ttl_seconds": ["6.0", "6.0"],
  "cluster.reclaim_interval_seconds": ["10", "10"],
  "cluster.mark_dead_nodes": ["false", "0"],
  "cluster.forget_after": ['"7d"', "7d"],
  "cluster.acquire_delay_seconds": ["2", "2"],
  "cluster.promotable": ["false", "false"],
  "cluster.min_nodes": ["3", "3"],
  "cluster.roles": ['["worker", "gateway"]', "worker, gateway"],
  "cluster.capabilities": ['["gpu", "pdf:a4"]', "gpu,pdf:a4"],
  "cluster.leader_election.enabled": ["false", "false"],
  "cluster.leader_election.takeover": ['"lease"', "lease"],
  "cluster.leader_election.evidence_grace": ['"250ms"', "250ms"],
  "cluster.leader_election.on_stall": ['"hold"', "hold"],
  "shutdown.drain_timeout_seconds": ["60", "60"],
  "shutdown.poll_interval_ms": ["50", "50"],
  "api.host": ['"::1"', "::1"],
  "api.port": ["8080", "8080"],
  "api.public_url": ['"http://a:7400"', "http://a:7400"],
  "api.tls_cert": ['"/c.pem"', "/c.pem"],
  "api.tls_key": ['"/k.pem"', "/k.pem"],
  "api.insecure_http": ["true", "true"],
  "jobs.leader_works": ["true", "true"],
  "jobs.drain_grace_seconds": ["1", "1"],
  "jobs.max_attempts": ["3", "3"],
  "jobs.backoff": ['"2s"', "2s"],
  "jobs.timeout": ['"5m"', "5m"],
  "supervisor.moonlight": ["true", "true"],
  "retention.bodies_days": ["0", "0"],
  "retention.history_days": ["7", "7"],
  "retention.jobs_days": ["0", "0"],
  "retention.dead_jobs_days": ["9", "9"],
  "retention.events_days": ["1", "1"],
  "retention.audit_days": ["7", "7"],
  "log.level": ['"trace"', "trace"],
  "log.format": ['"pretty"', "pretty"],
  "metrics.prefix": ['"app_"', "app_"],
  "alerting.enabled": ["false", "false"],
  "alerting.defaults": ["false", "0"],
  "alerting.interval": ['"10s"', "10s"],
  "alerting.notify": ['["slack:#ops", "log"]', "slack:#ops, log"],
  "notify.pagerduty.url": [
    '"https://events.eu.pagerduty.com/v2/enqueue"',
    "https://events.eu.pagerduty.com/v2/enqueue",
  ],
  "notify.webhook.allow": ['["10.0.0.0/8", "hooks.internal"]', "10.0.0.0/8,hooks.internal"],
  "roles.scheduler.lock_key": ["0x7FFF_FFFF_FFFF_FFFF", "9223372036854775807"],
  crons: [
    '[{ name = "n", schedule = "0 2 * * *", op = "report", time_zone = "Europe/Berlin", payload = { a = [1, "b"] } }]',
    '[{"name":"n","schedule":"0 2 * * *","op":"report","time_zone":"Europe/Berlin","payload":{"a":[1,"b"]}}]',
  ],
  alerts: [
    '[{ name = "n", condition = "up == 0", for = "30s", severity = "critical", notify = ["slack:#ops"] }]',
    '[{"name":"n","condition":"up == 0","for":"30s","severity":"critical","notify":["slack:#ops"]}]',
  ],
};

/** What else must be said for a sample to be allowed. */
const company: Readonly<Record<string, string>> = {
  "store.backend": 'store.server = "db"',
  "store.election_url": 'store.server = "db"',
  "cluster.enabled": 'store.server = "db"',
  "cluster.min_nodes": 'store.server = "db"\ncluster.enabled = true',
  "api.tls_cert": 'api.tls_key = "/k.pem"',
  "api.tls_key": 'api.tls_cert = "/c.pem"',
};

/** Secrets that a file must not hold have only one way in. */
const secretPaths = everySetting()
  .filter(({ setting }) => setting.notInFile)
  .map(({ path }) => path);

describe("the environment", () => {
  it("has a sample here for every setting", () => {
    const paths = everySetting().map(({ path }) => path.replace(/\[\]\..*$/, "").replace("<>", "scheduler"));
    expect(new Set([...Object.keys(samples), ...secretPaths])).toEqual(new Set(paths));
  });

  it("has a name of its own for every setting", () => {
    const names = Object.keys(samples).map(environmentName);
    expect(new Set(names).size).toBe(names.length);
  });

  it.each(Object.entries(samples))("says %s as a file does", (path, [toml, text]) => {
    const others = company[path] ?? "";
    const file = loadText(`${others}\n${path} = ${toml}`);
    const environment = loadText(others, { [environmentName(path)]: text });
    expect(laidOpen(environment.config)).toEqual(laidOpen(file.config));
    const rows = ({ config }: LoadedConfig) => describeConfig(config, {}).filter(({ key }) => key.startsWith(path));
    expect(rows(file)).not.toEqual(rows(loadText(null)));
  });

  it.each(Object.entries(samples))("overrides %s in a file, and is named as its source", (path, [toml, text]) => {
    const others = company[path] ?? "";
    const wrong = `${others}\n${path} = 1979-05-27`;
    const { config, sources } = loadText(wrong, { [environmentName(path)]: text });
    expect(laidOpen(config)).toEqual(laidOpen(loadText(`${others}\n${path} = ${toml}`).config));
    expect(sources[path]).toBe("environment");
  });

  it.each(secretPaths)("is the only way in for %s", (path) => {
    const name = environmentName(path);
    const { config, sources } = loadText(null, { [name]: "hush" });
    expect(JSON.stringify(laidOpen(config))).toContain('{"secret":"hush"}');
    expect(sources).toEqual({ [path]: "environment" });
    const refused = `${path} is a secret and has no place in a file: set ${name} in the environment.`;
    expect(refusalOf(() => loadText(`${path} = "hush"`)).message).toBe(refused);
    expect(refusalOf(() => loadText(`${path} = "hush"`, { [name]: "hush" })).message).toBe(refused);
  });

  it.each([
    ["HOLDFAST_API_PORT", "74oo", 'must be a whole number from 0 to 65535, not "74oo".'],
    ["HOLDFAST_API_PORT", " 7400", 'must be a whole number from 0 to 65535, not " 7400".'],
    ["HOLDFAST_API_PORT", "7.4e3", 'must be a whole number from 0 to 65535, not "7.4e3".'],
    ["HOLDFAST_API_PORT", "0x10", 'must be a whole number from 0 to 65535, not "0x10".'],
    ["HOLDFAST_API_PORT", "", 'must be a whole number from 0 to 65535, not "".'],
    ["HOLDFAST_API_PORT", "65536", "must be a whole number from 0 to 65535, not 65536."],
    ["HOLDFAST_CLUSTER_ENABLED", "yes", 'must be true or false, not "yes".'],
    ["HOLDFAST_CLUSTER_ENABLED", "toString", 'must be true or false, not "toString".'],
    ["HOLDFAST_CRONS", "nightly", "must be a list of tables."],
    [
      "HOLDFAST_ROLES_SCHEDULER_LOCK_KEY",
      "9223372036854775808",
      "must be a whole number of 64 bits, not 9223372036854775808.",
    ],
    [
      "HOLDFAST_CLUSTER_ROLES",
      "gatway,worker",
      'must be a list of "gateway", "function", "worker", "scheduler", each at most once, not ["gatway", "worker"]. Did you mean "gateway"?',
    ],
  ])("is called by its own name when %s = %j is refused", (name, text, said) => {
    expect(refusalOf(() => loadText(null, { [name]: text })).message).toBe(`${name} ${said}`);
  });

  it("names the column of a table that came as JSON", () => {
    const crons = JSON.stringify([{ name: "a", schedule: "daily", op: "x" }]);
    expect(refusalOf(() => loadText(null, { HOLDFAST_CRONS: crons })).message).toBe(
      'HOLDFAST_CRONS[0].schedule must be five or six fields like "0 2 * * *", not "daily".',
    );
  });

  it("is refused where it names no setting, with the nearest", () => {
    expect(refusalOf(() => loadText(null, { HOLDFAST_CLUSTR_NAME: "x" })).message).toBe(
      "HOLDFAST_CLUSTR_NAME is not a setting. Did you mean HOLDFAST_CLUSTER_NAME?",
    );
    expect(refusalOf(() => loadText(null, { HOLDFAST_TOKN: "x" })).message).toBe(
      "HOLDFAST_TOKN is not a setting. Did you mean HOLDFAST_TOKEN?",
    );
  });

  it.each(Object.entries(foreignNames))("knows %s by the name that it has here", (theirs, ours) => {
    for (const name of [`HOLDFAST_${theirs.toUpperCase()}`, `HOLDFAST_CLUSTER_${theirs.toUpperCase()}`]) {
      const said = `${name} is not a setting here: ours is ${environmentName(ours)}.`;
      expect(refusalOf(() => loadText(null, { [name]: "1" })).message).toBe(said);
    }
  });

  it("leaves alone what belongs to others", () => {
    const { sources } = loadText(null, {
      PG_CONN_STRING: "postgres://other",
      HEARTBEAT_INTERVAL_MS: "1",
      PATH: "/bin",
      HOLDFAST_URL: "http://a:7400",
      HOLDFAST_TOKEN: "t",
      HOLDFAST_TEST_PARTIAL: "1",
    });
    expect(sources).toEqual({});
  });

  it("leaves alone what Kubernetes sets for a service called holdfast, or holdfast-api", () => {
    const { config, sources } = loadText(null, {
      HOLDFAST_SERVICE_HOST: "10.0.0.1",
      HOLDFAST_SERVICE_PORT: "7400",
      HOLDFAST_SERVICE_PORT_HTTP: "7400",
      HOLDFAST_PORT: "tcp://10.0.0.1:7400",
      HOLDFAST_PORT_7400_TCP: "tcp://10.0.0.1:7400",
      HOLDFAST_PORT_7400_TCP_ADDR: "10.0.0.1",
      HOLDFAST_API_SERVICE_HOST: "10.0.0.1",
      HOLDFAST_API_PORT: "tcp://10.0.0.1:7400",
    });
    expect(config.api.port).toBe(7400);
    expect(sources).toEqual({});
  });
});
