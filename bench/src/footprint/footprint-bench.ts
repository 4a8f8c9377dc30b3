import type { BenchOptions } from "../bench.js";
import type { Result } from "../result.js";
import { startServer } from "../server.js";
import { benchIdleMemory } from "./idle-memory.js";
import { benchPackages } from "./package-size.js";
import { benchStartUp } from "./start-up.js";

/** What a node takes before it does anything: space on disk, memory, and time until it answers. */
export async function benchFootprint(options: BenchOptions): Promise<readonly Result[]> {
  // First, because it needs the registry, and fails at once without it.
  const packages = await benchPackages(options);
  const server = await startServer();
  const startUp = await benchStartUp(server, options);
  const memory = await benchIdleMemory(server, options);
  return [...memory, ...startUp, ...packages];
}
