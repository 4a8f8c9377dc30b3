/**
 * `npm run test:long`: what takes too long for every change. The same tests as `npm test`, with more seeds and more rounds:
 * HOLDFAST_SEEDS says how many seeds the simulator runs, HOLDFAST_LONG=1 that failover rounds and fault runs are long.
 */
import { spawnSync } from "node:child_process";

const long = { HOLDFAST_SEEDS: "20000", HOLDFAST_LONG: "1" };

// One file at a time: the simulator takes a core for minutes, and tests of leases of two seconds would stand beside it.
const parts = [
  { name: "simulation and integration", tests: ["test/simulation", "test/integration", "--maxWorkers=1"] },
];

for (const part of parts) {
  console.log(`long run: ${part.name}`);
  const { status } = spawnSync(process.execPath, ["scripts/test.mjs", ...part.tests, ...process.argv.slice(2)], {
    stdio: "inherit",
    // What is set by hand wins, to repeat one part with fewer seeds.
    env: { ...long, ...process.env },
  });
  if (status !== 0) process.exit(status ?? 1);
}
