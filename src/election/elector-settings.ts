import type { Config } from "../config/config.js";
import type { NodeReport } from "../membership/node-row.js";
import type { ElectorSettings } from "./core/elector-state.js";

/** What the elector needs to know of the settings, and of the node it decides for. */
export function electorSettingsOf({ cluster, timing }: Config, report: NodeReport): ElectorSettings {
  const { onStall, takeover } = cluster.leaderElection;
  return {
    holder: { nodeId: report.nodeId, incarnation: report.incarnation, url: report.url },
    timing,
    terms: { ttlMs: timing.ttlMs, onStall, takeover, evidenceGraceMs: timing.evidenceGraceMs },
    promotable: cluster.promotable,
  };
}
