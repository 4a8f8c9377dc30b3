import type { SessionPath } from "../../src/election/core/elector-state.js";
import type { LeaseTerms } from "../../src/election/core/lease.js";
import type { FaultKind } from "./fault-kinds.js";

/** What a scenario stresses. Whatever is not said is as in the ordinary one. */
export interface Theme {
  /** How often a seed picks it; 0: only where a test asks for it. */
  readonly weight: number;
  /** Added to the common faults, or in their place. */
  readonly faults?: Partial<Record<FaultKind, number>>;
  readonly paths?: readonly SessionPath[];
  readonly onStall?: readonly LeaseTerms["onStall"][];
  readonly takeover?: readonly LeaseTerms["takeover"][];
  readonly grace?: boolean;
  readonly tight?: boolean;
  /** Each node has settings of its own. */
  readonly mixed?: boolean;
  /** The share of nodes with an acquire delay, and of those that are not promotable. */
  readonly reluctant?: number;
  readonly workFails?: number;
  readonly workOverruns?: number;
  readonly checksG3?: boolean;
}

export type ThemeName =
  | "ordinary"
  | "crashes"
  | "stalls"
  | "sessions"
  | "failover"
  | "clocks"
  | "grace"
  | "proxied"
  | "margins"
  | "grace_margins"
  | "pooled"
  | "hold"
  | "lease_only"
  | "mixed"
  | "handovers"
  | "reluctant"
  | "working"
  | "clock_forward"
  | "forged_resets";

export const themes: Readonly<Record<ThemeName, Theme>> = {
  ordinary: { weight: 4 },
  crashes: { weight: 2, faults: { crash: 12, rough_network: 4 } },
  stalls: { weight: 2, faults: { pause: 8, suspend: 3, block: 6, held_write: 4, slow_link: 5 } },
  sessions: {
    weight: 2,
    faults: { kill_one: 4, kill_all: 4, reset_one: 4, reset_in_turn: 6, restart: 3, slow_database: 4, slow_link: 4 },
  },
  // A second lossy failover needs the database's seconds to have moved on, so its clock is not stepped back here.
  failover: { weight: 2, faults: { failover: 6, database_clock_back: 0, advance_epoch: 0 } },
  clocks: { weight: 2, faults: { suspend: 5, wall_jump: 6, database_clock_back: 4 } },
  grace: { weight: 2, grace: true, faults: { reset_both: 8, suspend: 4, block: 3 } },
  proxied: { weight: 2, paths: ["proxied", "proxied", "direct"], faults: { reset_both: 6, path_change: 10 } },
  margins: { weight: 1, tight: true, faults: { block: 12, pause: 4, crash: 1 } },
  grace_margins: { weight: 1, tight: true, grace: true, faults: { reset_both: 30, crash: 0.5, pause: 0.5 } },
  pooled: { weight: 1, paths: ["pooled", "pooled", "direct"] },
  hold: { weight: 2, onStall: ["hold"], faults: { pause: 8, kill_one: 2 } },
  lease_only: { weight: 1, takeover: ["lease"], faults: { reset_both: 4 } },
  mixed: {
    weight: 2,
    mixed: true,
    onStall: ["depose", "hold"],
    takeover: ["evidence", "lease"],
    paths: ["direct", "direct", "direct", "proxied", "pooled"],
    faults: { handover: 4, slow_link: 3 },
  },
  handovers: { weight: 2, mixed: true, takeover: ["evidence", "evidence", "lease"], faults: { handover: 50 } },
  reluctant: { weight: 2, reluctant: 0.4, faults: { handover: 5, step_down: 3, database_clock_back: 2 } },
  working: { weight: 2, workFails: 0.3, workOverruns: 0.3, faults: { step_down: 4, candidacy: 4, handover: 2 } },
  // The limits that the guarantees state.
  clock_forward: { weight: 1, checksG3: false, faults: { database_clock_forward: 6 } },
  forged_resets: { weight: 0, faults: { reset_both: 10 } },
};
