import type { ThemeName } from "./themes.js";

/** A seed, with the theme it was told to run where it did not choose by itself. */
interface KeptSeed {
  readonly seed: number;
  readonly theme?: ThemeName;
  readonly found: string;
}

/**
 * Seeds that once failed. They always run. A seed means what the simulator of its day made of it: where the simulator or
 * the elector draws other numbers, it is looked up again by undoing the repair, so that each still fails without it.
 */
export const keptSeeds: readonly KeptSeed[] = [
  { seed: 51, found: "behind a pooler the elector woke for a witness that it never opens, without end" },
  { seed: 6, found: "while a campaign's connection was being opened the elector woke without end" },
  { seed: 14, found: "a replica that lost the first election granted its epoch again: a new row had no identity" },
  { seed: 29, found: "a node with an acquire delay became heir, and would have taken over first" },
  { seed: 593, found: "a clock stepped back left a lease reserved for an hour, for a node that never came" },
  { seed: 1613, found: "a late renewal named a session that its process had given up, and its end passed for a crash" },
  { seed: 262, theme: "proxied", found: "a new heir that had the lock already kept it, and never asked" },
  { seed: 230, found: "the grace was measured by the monotonic clock, which stands still in a suspend" },
  {
    seed: 732,
    theme: "proxied",
    found: "a leader reconnected through a proxy, and its row asked no grace of the heir",
  },
  { seed: 1597, theme: "grace_margins", found: "a fast heir had served the grace before a slow leader's gate shut" },
  { seed: 581, found: "an heir asked too early, forgot what it had seen, and a crash took a TTL" },
];
