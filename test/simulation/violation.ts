/** What the simulator checks. The names are those of docs/guarantees.md and of the rules in the design. */
export type Invariant =
  /** No fenced write stamped e commits after an epoch above e has committed. */
  | "G1"
  /** Granted epochs of a role are unique and strictly increasing. */
  | "G2"
  /** At most one gate of a role is open at a time. */
  | "G3"
  /** After the faults have stopped there is one leader, which stays, and an heir. */
  | "G6"
  /** The row's epoch never decreases while the database is the same. */
  | "R1"
  /** A release frees only the lease that it names, and a renewal does not revive one that has run out. */
  | "R4"
  /** A stalled holder that asked to keep the role keeps it while its session holds the lock. */
  | "R7"
  /** A lease is not given back while work of its term still runs. */
  | "R9"
  /** A node that may not lead at once is never the heir. */
  | "R10"
  /** A term starts with a granted epoch, once, ends once, and nothing is done for it afterwards. */
  | "term"
  /** One heir a role. */
  | "heir"
  /** A node leaves no sessions behind at the database. */
  | "sessions"
  /** Nobody is busy for nothing. */
  | "livelock"
  /** The core threw. */
  | "crash";

export class Violation extends Error {
  readonly invariant: Invariant;

  constructor(invariant: Invariant, message: string) {
    super(`${invariant}: ${message}`);
    this.name = "Violation";
    this.invariant = invariant;
  }
}
