import { mllpFraming } from "../../core/framing/mllp-framing.js";
import { isAckWanted, readAcknowledgement } from "../../core/hl7/acknowledged.js";
import type { CharsetChoice } from "../../core/hl7/charset.js";
import { type Hl7Header, peekHeader } from "../../core/hl7/header.js";
import { FramedDestination, type ReplyProtocol } from "../tcp/framed-destination.js";
import type { Judge } from "../tcp/outbound-link.js";
import type { DestinationParts } from "../transport.js";
import { judgeAck } from "./ack-verdict.js";
import type { MllpOutboundSettings } from "./mllp-settings.js";

export interface MllpDestinationParts extends DestinationParts<MllpOutboundSettings> {
  /** The charset for what MSH-18 says; UTF-8 for everything if left out. */
  readonly charsetOf?: CharsetChoice;
}

/** The last message that was delivered, by its control id. */
interface Last {
  readonly controlId: string;
  /** Whether its application acknowledgement may still come, behind the accept acknowledgement that it was delivered by. */
  readonly owed: boolean;
  /** Nothing was heard of it: its receiver may be gone. */
  readonly wasSilent: boolean;
}

const maxGarbageBytes = 1_024;
const any: Judge = (reply) => (reply === null ? null : { kind: "delivered", reply });

/** Sends HL7 messages by MLLP, each after the acknowledgement of the one before. */
export function createMllpDestination(parts: MllpDestinationParts): FramedDestination {
  const { settings, log, charsetOf } = parts;
  const options = charsetOf === undefined ? {} : { charsetOf };
  let last: Last | null = null;

  const judgeFor = (header: Hl7Header | null): Judge => {
    const sent = settings.matchControlId ? (header?.controlId ?? null) : null;
    return (reply) => {
      if (reply === null) {
        if (!isSilenceGood(header)) return null;
        last = { controlId: header?.controlId ?? "", owed: true, wasSilent: true };
        return { kind: "delivered", reply };
      }
      const ack = readAcknowledgement(reply, options);
      const outcome = judgeAck(ack, reply, { sent, before: last?.controlId ?? null });
      if (outcome?.kind === "delivered" && header !== null && ack.kind === "read") {
        const owed = ack.level === "accept" && isAckWanted(header, "application", true);
        last = { controlId: header.controlId, owed, wasSilent: false };
      }
      return outcome;
    };
  };

  const protocol: ReplyProtocol = {
    framing: mllpFraming({ maxGarbageBytes }),
    judgeOf({ body }) {
      if (settings.answer === "none") return null;
      if (settings.answer === "any") return any;
      const { header } = peekHeader(body, options);
      return answersNothing(header) ? null : judgeFor(header);
    },
    // An acknowledgement that is still to come would be taken for this message's own, where nothing tells the two apart.
    needsNewLink({ body }) {
      if (last?.owed !== true) return false;
      if (last.wasSilent) return true;
      const { header } = peekHeader(body, options);
      return !settings.matchControlId || header === null || header.controlId === last.controlId;
    },
    stray: settings.answer === "ack" ? isOfLast : null,
  };

  /** In enhanced mode the application acknowledgement follows the one that a message was delivered by. */
  function isOfLast(frame: Buffer): boolean {
    const ack = readAcknowledgement(frame, options);
    if (ack.kind === "malformed" || ack.controlId !== last?.controlId) return false;
    last = { ...last, owed: false };
    if (ack.verdict !== "accepted") {
      // Its text may name the patient.
      const told = { code: ack.code, control_id: ack.controlId };
      log.warn(told, "a message that was delivered was refused by the application behind it");
    }
    return true;
  }

  return new FramedDestination(parts, protocol);
}

const levels = ["accept", "application"] as const;

/** Who wants to hear of errors alone hears nothing where all is well. */
const isSilenceGood = (header: Hl7Header | null): boolean => levels.every((level) => !isAckWanted(header, level, true));

/** Who says that it never wants an acknowledgement gets none, and would be waited for in vain. */
function answersNothing(header: Hl7Header | null): boolean {
  return !levels.some((level) => isAckWanted(header, level, true) || isAckWanted(header, level, false));
}
