import { checkConnections, checkHorizon } from "./capacity-check.js";
import { checkCluster } from "./cluster-check.js";
import type { Expectations } from "./expectations.js";
import type { Facts } from "./facts.js";
import type { Finding } from "./finding.js";
import { checkPath, checkReach, checkTls } from "./reach-check.js";
import { checkPermissions, checkSchema, checkTimeline } from "./schema-check.js";
import { checkSettings } from "./settings-check.js";
import { checkClocks, checkTimings } from "./time-check.js";

/** What the facts mean for a cluster with these settings. A check about which nothing could be learned says nothing. */
export function judge(facts: Facts, expected: Expectations): readonly Finding[] {
  return [
    checkReach(facts),
    checkSchema(facts, expected),
    checkPermissions(facts),
    checkPath(facts, expected),
    checkTls(facts),
    checkTimeline(facts),
    checkClocks(facts),
    checkTimings(facts, expected),
    checkConnections(facts, expected),
    checkHorizon(facts),
    checkSettings(facts),
    checkCluster(facts, expected),
  ].flat();
}
