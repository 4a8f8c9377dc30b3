/**
 * Tests that take long beside what they tell of a change: real processes and servers that are started and stopped again
 * and again, long comparisons, and sabotage.
 * They are part of `npm run test:long` instead of `npm test`; by their names they run either way.
 */
export const slowTests = [
  "src/store/embedded/lifeline.test.ts",
  "src/store/embedded/server.test.ts",
  "test/cli/demo-keys.test.ts",
  "test/cli/drill.test.ts",
  "test/cli/supervise.test.ts",
  "test/contract/jobs-differential.test.ts",
  "test/contract/queue-differential.test.ts",
  "test/integration/alerts-failover.test.ts",
  "test/integration/alerts-outage.test.ts",
  "test/integration/config-reload.test.ts",
  "test/integration/database-trouble.test.ts",
  "test/integration/doctor.test.ts",
  "test/integration/engine-bad-days.test.ts",
  "test/integration/engine-failover.test.ts",
  "test/integration/engine-haproxy.test.ts",
  "test/integration/engine-references.test.ts",
  "test/integration/engine-sftp.test.ts",
  "test/integration/functions.test.ts",
  "test/integration/grants-nodes.test.ts",
  "test/integration/pooler.test.ts",
  "test/integration/promtool-random.test.ts",
  "test/integration/spared-sessions.test.ts",
  "test/integration/upkeep.test.ts",
  "test/integration/vacuum-horizon.test.ts",
  "test/integration/worker-cost.test.ts",
  "test/integration/workers.test.ts",
  "test/simulation/sabotage.test.ts",
  "test/tidy/gates.test.ts",
];
