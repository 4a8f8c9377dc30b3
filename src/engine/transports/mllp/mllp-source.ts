import { mllpFraming } from "../../core/framing/mllp-framing.js";
import { acknowledge } from "../../core/hl7/acknowledgement.js";
import type { CharsetChoice } from "../../core/hl7/charset.js";
import { peekHeader } from "../../core/hl7/header.js";
import { FramedSource, type FrameProtocol } from "../tcp/framed-source.js";
import type { Answer } from "../tcp/inbound-connection.js";
import type { Receipt, SourceParts } from "../transport.js";
import { type AckPolicy, planAcks } from "./ack-plan.js";
import type { MllpInboundSettings } from "./mllp-settings.js";

export interface MllpSourceParts extends SourceParts<MllpInboundSettings> {
  readonly acks: AckPolicy;
  /** The charset for what MSH-18 says; UTF-8 for everything if left out. */
  readonly charsetOf?: CharsetChoice;
}

/**
 * Takes in HL7 messages by MLLP, and acknowledges them after the commit. What is kept as a message's answer are the bytes that
 * went out, one frame or two, so that a resend gets the very same ones.
 */
export function createMllpSource(parts: MllpSourceParts): FramedSource {
  const { settings, acks, charsetOf, clock } = parts;
  const framing = mllpFraming(settings);
  const nextControlId = controlIds(clock.wall());
  const build = (body: Buffer, receipt: Receipt): Buffer | null => {
    const { header } = peekHeader(body, charsetOf === undefined ? {} : { charsetOf });
    const at = hl7Time(clock.wall());
    const frames = planAcks(header, receipt, acks).flatMap(({ code, text }) => {
      const said = text === null ? {} : { text };
      const framed = framing.frame(acknowledge(header, { code, controlId: nextControlId(), at, ...said }));
      return framed.kind === "framed" ? [framed.bytes] : [];
    });
    return frames.length === 0 ? null : Buffer.concat(frames);
  };
  const protocol: FrameProtocol = {
    framing,
    mute: false,
    acknowledge: build,
    answer: (body, receipt) => answerOf(receipt, () => build(body, receipt)),
    refuse: (head, reason, retry) => build(head, { kind: "refused", reason, retry }),
  };
  return new FramedSource(parts, protocol);
}

/** Who gets no answer to a message that was not kept, because it wants none, sees its connection end. */
function answerOf(receipt: Receipt, build: () => Buffer | null): Answer {
  if (receipt.kind === "accepted") return { bytes: receipt.ack ?? build(), last: false };
  const bytes = build();
  return { bytes, last: bytes === null };
}

/** Control ids of our own acknowledgements: by the time of the start and a count, within the 20 characters of old versions. */
function controlIds(startedAt: number): () => string {
  const start = startedAt.toString(36).toUpperCase();
  let count = 0;
  return () => {
    count += 1;
    return `${start}.${count.toString(36).toUpperCase()}`;
  };
}

/** "20260131113000+0000". */
function hl7Time(wall: number): string {
  return `${new Date(wall).toISOString().slice(0, 19).replace(/[-T:]/g, "")}+0000`;
}
