import type { Holder } from "../election/core/lease.js";
import type { Epoch, Role } from "../election/core/names.js";

/** What a write states, so that the database can refuse it: the term under which it is made. */
export interface FenceToken {
  readonly role: Role;
  readonly epoch: Epoch;
  readonly holder: Holder;
}
