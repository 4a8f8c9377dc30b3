/**
 * Seeds that once failed. They always run. A seed means what the simulator of its day made of it: where the simulator
 * changes, the seed is looked up again by undoing the repair, so that each still fails without it.
 */
export const keptSeeds: readonly { readonly seed: number; readonly found: string }[] = [];
