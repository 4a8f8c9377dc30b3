/** What the queue's simulator checks. G1, G4 and G5 are those of docs/guarantees.md. */
export type QueueRule =
  /** Nothing is written under an epoch that is over. */
  | "G1"
  /** What was acknowledged is in its lane, which has no gap, until it is finished or dead. */
  | "G4"
  /** Each lane in order, one handler at a time. */
  | "G5"
  /** Whoever was told no is not taken in. */
  | "answer"
  /** The same key is taken in once. */
  | "key"
  /** What a handler produced is taken in with the commit that finishes its message, once. */
  | "handoff"
  /** Failures that were committed are counted, and nothing else is. */
  | "attempt"
  /** What does not hold the lane's claim changes nothing of it. */
  | "claim"
  /** A new leader gives back what earlier ones had in flight. */
  | "recovery"
  /** A message that fells its process is put aside, it alone, and soon. */
  | "quarantine"
  /** A term that ends cleanly leaves nothing at work behind, and nothing that looks like a crash. */
  | "drain"
  /** When the faults have stopped, every lane that nobody holds gets empty. */
  | "liveness"
  /** Nobody is busy for nothing. */
  | "livelock"
  /** The queue says of itself that it is broken. */
  | "broken";

export class QueueViolation extends Error {
  readonly rule: QueueRule;

  constructor(rule: QueueRule, message: string) {
    super(`${rule}: ${message}`);
    this.name = "QueueViolation";
    this.rule = rule;
  }
}
