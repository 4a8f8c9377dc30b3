import { parseRole, type Role } from "../election/core/names.js";
import { deriveTiming, type Timing } from "../election/core/timing.js";
import { type Catalogue, catalogue, type Given, type Values } from "./catalogue.js";
import { readSettings } from "./read-settings.js";
import { badSetting, durationMs } from "./setting.js";

/** What a role may be given beside the rest: the key of its advisory lock, pinned. */
export interface RoleSettings {
  readonly lockKey?: number | bigint;
}

/** Everything a node is told, checked and frozen. */
export interface Config extends Values<Catalogue> {
  readonly timing: Timing;
  readonly backend: "embedded" | "postgres";
  /** Asked for by name, so a pooler that rules evidence out is an error and no fallback. */
  readonly insistsOnEvidence: boolean;
  /** The operator said how to encrypt; else it depends on the host. */
  readonly statedTls: boolean;
  readonly lockKeys: ReadonlyMap<Role, bigint>;
}

export type ConfigOptions = Given<Catalogue> & { readonly roles?: Readonly<Record<string, RoleSettings>> | undefined };

/** `ownConnection`: the caller brings a pool or a store of its own, so the embedded server is not meant. */
export function resolveConfig(options: ConfigOptions, ownConnection: boolean): Config {
  const { roles = {}, ...given } = options;
  const { values, stated } = readSettings(catalogue, given);
  const { cluster, store } = values;
  const server = ownConnection || store.url !== "" || store.server !== "";
  const backend = stated.has("store.backend") ? store.backend : server ? "postgres" : "embedded";
  if (backend === "embedded" && server) {
    throw badSetting(
      'store.backend = "embedded" takes no url, server or pool: leave them out, or set backend = "postgres".',
    );
  }
  if (backend === "postgres" && !server) {
    throw badSetting('store.backend = "postgres" needs store.url, or store.server with database and username.');
  }
  if (cluster.enabled && backend === "embedded") {
    throw badSetting("cluster.enabled = true needs a server database that the nodes share: set store.url.");
  }
  if (cluster.enabled && store.poolSize < 2) {
    throw badSetting(
      `store.pool_size (${store.poolSize}) must be at least 2 in a cluster: reads would wait behind a transaction.`,
    );
  }
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(store.schema)) {
    throw badSetting(
      `store.schema ("${store.schema}") must be 1 to 63 of the characters a-z, 0-9 and "_", not starting with a digit.`,
    );
  }
  const timing = deriveTiming({
    heartbeatMs: cluster.heartbeatSeconds * 1000,
    fenceMs: cluster.leaderFenceTimeoutSeconds * 1000,
    ttlMs: cluster.leaderLeaseTtlSeconds * 1000,
    nodeTimeoutMs: cluster.nodeTimeoutSeconds * 1000,
    acquireDelayMs: cluster.acquireDelaySeconds * 1000,
    evidenceGraceMs: durationMs(cluster.leaderElection.evidenceGrace) ?? 0,
    drainTimeoutMs: values.shutdown.drainTimeoutSeconds * 1000,
  });
  return Object.freeze({
    ...values,
    timing,
    backend,
    insistsOnEvidence: stated.has("cluster.leader_election.takeover") && cluster.leaderElection.takeover === "evidence",
    statedTls: stated.has("store.tls"),
    lockKeys: readLockKeys(roles),
  });
}

function readLockKeys(roles: Readonly<Record<string, RoleSettings>>): ReadonlyMap<Role, bigint> {
  const keys = new Map<Role, bigint>();
  for (const [name, settings] of Object.entries(roles)) {
    const role = parseRole(name);
    for (const key of Object.keys(settings)) {
      if (key !== "lockKey")
        throw badSetting(`roles.${name}.${key} is not a setting. Did you mean roles.${name}.lock_key?`);
    }
    if (settings.lockKey === undefined) continue;
    const safe = typeof settings.lockKey === "bigint" || Number.isSafeInteger(settings.lockKey);
    const lockKey = safe ? BigInt(settings.lockKey) : null;
    if (lockKey === null || lockKey !== BigInt.asIntN(64, lockKey)) {
      throw badSetting(`roles.${name}.lock_key must be a whole number of 64 bits.`);
    }
    keys.set(role, lockKey);
  }
  return keys;
}
