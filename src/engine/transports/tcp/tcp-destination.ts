import type { DestinationParts } from "../transport.js";
import { FramedDestination, type ReplyProtocol } from "./framed-destination.js";
import type { Judge } from "./outbound-link.js";
import type { TcpOutboundSettings } from "./tcp-settings.js";

/** Sends frames by TCP. Without an answer to wait for, a message counts as delivered once the kernel has it. */
export function createTcpDestination(parts: DestinationParts<TcpOutboundSettings>): FramedDestination {
  const { framing, waitForAnswer, expect } = parts.settings;
  const judge: Judge = (reply) => {
    if (reply === null) return null;
    if (expect === null || reply.equals(expect)) return { kind: "delivered", reply };
    const shown = reply.toString("latin1", 0, 200).replace(/[^\x20-\x7e]/g, ".");
    return { kind: "rejected", reason: `The answer was "${shown}".`, retry: true };
  };
  const protocol: ReplyProtocol = {
    framing,
    judgeOf: () => (waitForAnswer ? judge : null),
    needsNewLink: () => false,
    // An answer here says nothing about whose it is: one that comes late would be taken for the next message's.
    stray: null,
  };
  return new FramedDestination(parts, protocol);
}
