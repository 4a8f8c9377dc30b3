import type { FaultKind } from "./history.js";

/** A refusal that faults are there to bring about: where it never came, nobody knows whether it would have. */
interface Expected {
  readonly code: string;
  /** The faults that do, together. */
  readonly by: readonly FaultKind[];
  /** It takes luck, of which a run has enough that lasts so long. */
  readonly minutes: number;
}

const stalls: readonly FaultKind[] = ["freeze", "freeze_in_transaction", "block_loop", "partition"];

const expected: readonly Expected[] = [
  // Of a node that does not lead, to whoever asks it all the same.
  { code: "NOT_LEADER", by: ["kill"], minutes: 0 },
  // Of the fence, to a deposed leader.
  { code: "STALE_EPOCH", by: stalls, minutes: 2 },
  // Of the sink that checks tokens, to the effects of one.
  { code: "SINK_REFUSED", by: stalls, minutes: 10 },
  // Of a node that cannot say whether it was done.
  { code: "UNKNOWN_OUTCOME", by: ["reply_lost_after_commit", "database_failover"], minutes: 2 },
  { code: "DATABASE_AWAY", by: ["restart_fast", "restart_immediate", "database_failover"], minutes: 2 },
  // Of the server.
  { code: "53300", by: ["connections_exhausted"], minutes: 0 },
  { code: "53100", by: ["disk_full"], minutes: 10 },
  { code: "57P01", by: ["terminate_worker", "restart_fast"], minutes: 10 },
  // Of the API, to those who flood it.
  { code: "UNAUTHORIZED", by: ["flood"], minutes: 0 },
  { code: "INVALID_REQUEST", by: ["flood"], minutes: 0 },
  { code: "NOT_FOUND", by: ["flood"], minutes: 0 },
];

/** What a run with these faults, of this length, has to have seen. */
export function expectedRejections(faults: readonly FaultKind[], minutes: number): readonly string[] {
  return expected
    .filter(({ by, minutes: least }) => minutes >= least && by.every((kind) => faults.includes(kind)))
    .map(({ code }) => code);
}
