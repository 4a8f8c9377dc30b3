import type { Step } from "../../src/election/core/elector-core.js";
import type { ElectorState, Term } from "../../src/election/core/elector-state.js";
import type { Input } from "../../src/election/core/messages.js";
import type { Instant } from "../../src/election/core/trust.js";
import type { LeaseRules } from "../../src/store/memory/lease-rules.js";
import type { SimDatabase, SimDatabaseOptions } from "./sim-database.js";

/**
 * Where the simulator can be made to run a broken protocol: in the rules, in the database, and on the edges between the
 * elector and the world. The sources know nothing of it.
 */
export interface Hooks {
  readonly rules?: Partial<LeaseRules>;
  readonly database?: new (options: SimDatabaseOptions) => SimDatabase;
  /** The database's identity cannot be read, or nobody looks at it. */
  readonly ignoresIdentity?: boolean;
  readonly rewriteInput?: (input: Input, state: ElectorState) => Input;
  readonly afterStep?: (step: Step, context: { input: Input; before: ElectorState; now: Instant }) => Step;
  readonly gate?: (term: Term, grace: number, now: Instant) => boolean;
}
