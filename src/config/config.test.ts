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
      "cluster.enabled = true needs a server database that the nodes share: set store.url.",
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
  ])("refuse %o in one line", (options, said) => {
    expect(refusal(options)).toBe(said);
  });

  it("never show a password", () => {
    expect(refusal({ store: { password: 12_345 } })).toBe("store.password must be a text.");
  });

  it("take a role's lock key as a number or a bigint", () => {
    const { lockKeys } = resolveConfig({ roles: { scheduler: { lockKey: 0x464f_5247_0001 } } }, false);
    expect([...lockKeys]).toEqual([["scheduler", 0x464f_5247_0001n]]);
  });
});
