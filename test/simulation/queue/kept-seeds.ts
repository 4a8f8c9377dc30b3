import type { ThemeName } from "./scenario.js";

/** A seed, with the theme it was told to run where it did not choose by itself. */
interface KeptSeed {
  readonly seed: number;
  readonly theme?: ThemeName;
  readonly found: string;
}

/**
 * Seeds that once failed. They always run. A seed means what the simulator of its day made of it: where the simulator or
 * the queue draws other numbers, it is looked up again by undoing the repair, so that each still fails without it.
 */
export const keptSeeds: readonly KeptSeed[] = [];
