import { ackMode, isAckWanted } from "../../core/hl7/acknowledged.js";
import type { AckCode } from "../../core/hl7/acknowledgement.js";
import type { Hl7Header } from "../../core/hl7/header.js";
import type { Receipt } from "../transport.js";

export interface AckPolicy {
  /** "auto": enhanced for messages that ask for it in MSH-15 or MSH-16, else original. */
  readonly mode: "auto" | "original" | "enhanced";
  /** The answer to a message that cannot be read. It is kept all the same. */
  readonly malformed: "AE" | "AR";
}

export interface PlannedAck {
  readonly code: AckCode;
  /** Why, where it is not a good one. */
  readonly text: string | null;
}

/**
 * Which acknowledgements a message gets, in their order. In original mode it is one: AA after the commit, AE where it was not kept
 * and may come again, AR where it need not. In enhanced mode MSH-15 says whether there is an accept acknowledgement (CA, CE, CR) and
 * MSH-16 whether an application acknowledgement follows it at once, on the same connection: the engine has taken the message over
 * with the commit, and has nothing to add later. After a refusal by CE or CR none follows.
 */
export function planAcks(
  header: Hl7Header | null,
  receipt: Receipt,
  { mode, malformed }: AckPolicy,
): readonly PlannedAck[] {
  const { verdict, text } = verdictOf(receipt, malformed);
  const application: PlannedAck = { code: `A${verdict}`, text };
  const accept: PlannedAck = { code: `C${verdict}`, text };
  const asksForEnhanced = ackMode(header) === "enhanced";
  if (mode === "original" || (mode === "auto" && !asksForEnhanced)) return [application];
  // Told to be enhanced, a message that asks for nothing gets the acknowledgement that keeps its sender from waiting.
  if (!asksForEnhanced) return [accept];
  const isGood = verdict === "A";
  const planned = isAckWanted(header, "accept", isGood) ? [accept] : [];
  if ((isGood || planned.length === 0) && isAckWanted(header, "application", isGood)) planned.push(application);
  return planned;
}

function verdictOf(receipt: Receipt, malformed: AckPolicy["malformed"]) {
  if (receipt.kind === "refused") return { verdict: receipt.retry ? "E" : "R", text: receipt.reason } as const;
  if (receipt.malformed === null) return { verdict: "A", text: null } as const;
  return { verdict: malformed === "AE" ? "E" : "R", text: receipt.malformed } as const;
}
