import { parseRole, type Role } from "../election/core/names.js";
import { deriveTiming, type Timing } from "../election/core/timing.js";
import { HoldfastError } from "../errors.js";
import { type Catalogue, catalogue } from "./catalogue.js";
import { brokenInvariants } from "./invariants.js";
import { LockKeys } from "./lock-keys.js";
import { isUnreadable, readSettings, type Spelling } from "./read-settings.js";
import type { Given, Values } from "./shape.js";

/** Everything a node is told, checked and frozen. */
export interface Config extends Omit<Values<Catalogue>, "roles"> {
  readonly timing: Timing;
  readonly backend: "embedded" | "postgres";
  /** The role that "the leader" means where no role is named. */
  readonly primaryRole: Role;
  /** Asked for by name, so a pooler that rules evidence out is an error and no fallback. */
  readonly insistsOnEvidence: boolean;
  /** The operator said how to encrypt; else it depends on the host. */
  readonly statedTls: boolean;
  readonly lockKeys: LockKeys;
}

export type ConfigOptions = Given<Catalogue>;

const inCode: Spelling = { of: "library", fromEnvironment: new Set() };

/** `ownConnection`: the caller brings a pool or a store of its own, so the embedded server is not meant. */
export function resolveConfig(options: ConfigOptions, ownConnection: boolean): Config {
  return settle(options, inCode, { ownConnection, problems: [] }).config;
}

/** Reads and checks settings however they are spelled. `problems` are those that were found on the way here. */
export function settle(
  given: unknown,
  spelling: Spelling,
  { ownConnection, problems: before }: { readonly ownConnection: boolean; readonly problems: readonly string[] },
): { readonly config: Config; readonly stated: ReadonlySet<string> } {
  const read = readSettings(catalogue, given, spelling);
  const { values, stated } = read;
  const { roles, ...rest } = values;
  const { cluster, store } = rest;
  const server = ownConnection || !store.url.isEmpty || store.server !== "";
  const backend = stated.has("store.backend") ? store.backend : server ? "postgres" : "embedded";
  const problems = [...before, ...read.problems, ...brokenInvariants({ ...read, backend, ownConnection })];
  const timing = timingPaths.some((path) => isUnreadable(read, path)) ? null : settleTiming(values, problems);
  if (timing === null || problems.length > 0) throw badSettings(problems);
  const config = Object.freeze({
    ...rest,
    timing: Object.freeze(timing),
    backend,
    primaryRole: parseRole(cluster.primaryRole === "" ? "scheduler" : cluster.primaryRole),
    insistsOnEvidence: stated.has("cluster.leader_election.takeover") && cluster.leaderElection.takeover === "evidence",
    statedTls: stated.has("store.tls"),
    lockKeys: lockKeysOf(roles),
  });
  return { config, stated };
}

/** One error for all that is wrong, a line each. */
export function badSettings(problems: readonly string[]): HoldfastError {
  return new HoldfastError("BAD_SETTINGS", problems.join("\n"), { details: { problems } });
}

/** Timings are judged together (R5): where one cannot be read there is nothing to judge. */
const timingPaths = [
  "cluster.heartbeat_seconds",
  "cluster.leader_fence_timeout_seconds",
  "cluster.leader_lease_ttl_seconds",
  "cluster.node_timeout_seconds",
  "cluster.leader_election.evidence_grace",
];

function settleTiming({ cluster, shutdown }: Values<Catalogue>, problems: string[]): Timing | null {
  try {
    return deriveTiming({
      heartbeatMs: cluster.heartbeatSeconds * 1000,
      fenceMs: cluster.leaderFenceTimeoutSeconds * 1000,
      ttlMs: cluster.leaderLeaseTtlSeconds * 1000,
      nodeTimeoutMs: cluster.nodeTimeoutSeconds * 1000,
      acquireDelayMs: cluster.acquireDelaySeconds * 1000,
      evidenceGraceMs: cluster.leaderElection.evidenceGrace.ms,
      drainTimeoutMs: shutdown.drainTimeoutSeconds * 1000,
    });
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    problems.push(error.message);
    return null;
  }
}

function lockKeysOf(roles: Values<Catalogue>["roles"]): LockKeys {
  const pinned = Object.entries(roles).flatMap(([role, { lockKey }]) =>
    lockKey === null ? [] : [[parseRole(role), lockKey] as const],
  );
  return new LockKeys(pinned);
}
