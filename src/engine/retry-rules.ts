import { parseDuration } from "../config/duration.js";
import type { HeadRules } from "../queue/core/head-outcome.js";
import type { LaneName } from "../store/queue-contract.js";
import { connectionOf, stages } from "./core/lane-names.js";
import type { OutboundDefinition } from "./definition.js";
import type { Graph } from "./graph.js";

const forever = Number.MAX_SAFE_INTEGER;
const usualBackoff = "1s";
const usualCap = "1m";

/** Routers and handlers fail for good at once; what is tried again waits for a reference set, and as long as that takes. */
const waiting: HeadRules = {
  maxAttempts: forever,
  policy: "dead_letter",
  backoff: { firstMs: 200, capMs: 5_000 },
};

/** What a failure means in a lane of the engine's queue. */
export function retryRulesOf({ outbounds }: Graph, { stage, lane }: LaneName): HeadRules {
  const outbound = stage === stages.outbound ? outbounds.get(connectionOf(lane)) : undefined;
  return outbound === undefined ? waiting : deliveryRules(outbound);
}

function deliveryRules({ retry = {} }: OutboundDefinition): HeadRules {
  const { attempts = "forever", backoff = usualBackoff, cap = usualCap } = retry;
  return {
    maxAttempts: attempts === "forever" ? forever : attempts,
    policy: "dead_letter",
    backoff: { firstMs: msOf(backoff, usualBackoff), capMs: msOf(cap, usualCap) },
  };
}

/** It was checked when the folder was loaded. */
function msOf(written: string, usual: string): number {
  return parseDuration(written)?.ms ?? parseDuration(usual)?.ms ?? 0;
}
