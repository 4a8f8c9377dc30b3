import type { Config } from "../config/config.js";

const secondMs = 1_000;
const dayMs = 86_400_000;

/** What holds for every queue of a node that does not say otherwise itself. */
export interface QueueDefaults {
  readonly leaseMs: number;
  readonly sweepIntervalMs: number;
  /** Null keeps everything. */
  readonly retentionMs: number | null;
}

/** Where there is no node to say it. */
export const usualDefaults: QueueDefaults = {
  leaseMs: 60 * secondMs,
  sweepIntervalMs: 30 * secondMs,
  retentionMs: 30 * dayMs,
};

export function queueDefaultsOf(config: {
  readonly store: Pick<Config["store"], "leaseTtlSeconds">;
  readonly cluster: Pick<Config["cluster"], "reclaimIntervalSeconds">;
  readonly retention: Pick<Config["retention"], "bodiesDays">;
}): QueueDefaults {
  const { store, cluster, retention } = config;
  return {
    leaseMs: store.leaseTtlSeconds * secondMs,
    sweepIntervalMs: cluster.reclaimIntervalSeconds * secondMs,
    retentionMs: retention.bodiesDays === 0 ? null : retention.bodiesDays * dayMs,
  };
}
