import type { AckRead } from "../../core/hl7/acknowledged.js";
import type { DeliveryOutcome } from "../transport.js";

export interface AskedAbout {
  /** The control id of the message that was written; null where it has none to be known by. */
  readonly sent: string | null;
  /** That of the message before, whose application acknowledgement may still come. */
  readonly before: string | null;
}

/**
 * What an acknowledgement says about the message that was written. Null: it is about the message before, which was delivered by
 * its accept acknowledgement.
 */
export function judgeAck(ack: AckRead, reply: Buffer, { sent, before }: AskedAbout): DeliveryOutcome | null {
  if (ack.kind === "malformed") return { kind: "unconfirmed", reason: ack.reason };
  const { controlId, verdict } = ack;
  if (sent !== null && controlId !== sent) {
    if (controlId === before) return null;
    return { kind: "unconfirmed", reason: `The answer is for control id "${controlId}", not for "${sent}".` };
  }
  if (verdict === "accepted") return { kind: "delivered", reply };
  const reason =
    ack.text === "" ? `It was answered with ${ack.code}.` : `It was answered with ${ack.code}: ${ack.text}`;
  return { kind: "rejected", reason, retry: verdict === "error" };
}
