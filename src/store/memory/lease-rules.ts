import { decideAcquire, decideRelease, decideRenew } from "../../election/core/lease-rules.js";

/** The lease rules a database decides by. The simulator replaces single ones, to prove that it would notice. */
export interface LeaseRules {
  readonly decideAcquire: typeof decideAcquire;
  readonly decideRenew: typeof decideRenew;
  readonly decideRelease: typeof decideRelease;
}

export const leaseRules: LeaseRules = { decideAcquire, decideRenew, decideRelease };
