import type { Config } from "../config/config.js";
import type { Timing } from "../election/core/timing.js";

/** What the settings ask of a database. */
export interface Expectations {
  readonly schema: string;
  readonly cluster: string;
  readonly primaryRole: string;
  /** The newest migration that this code knows. */
  readonly codeVersion: number;
  readonly migrate: "auto" | "check";
  readonly timing: Timing;
  readonly poolSize: number;
  readonly minNodes: number;
  readonly takeover: "evidence" | "lease";
  /** Evidence was asked for by name: a node refuses to start without it. */
  readonly insistsOnEvidence: boolean;
  readonly historyDays: number;
}

export function expectationsOf(config: Config, codeVersion: number): Expectations {
  const { store, cluster } = config;
  return {
    schema: store.schema,
    cluster: cluster.name,
    primaryRole: config.primaryRole,
    codeVersion,
    migrate: store.migrate,
    timing: config.timing,
    poolSize: store.poolSize,
    minNodes: cluster.minNodes,
    takeover: cluster.leaderElection.takeover,
    insistsOnEvidence: config.insistsOnEvidence,
    historyDays: config.retention.historyDays,
  };
}
