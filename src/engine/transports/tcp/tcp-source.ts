import { HoldfastError } from "../../../errors.js";
import type { Receipt, SourceParts } from "../transport.js";
import { FramedSource, type FrameProtocol } from "./framed-source.js";
import type { Answer } from "./inbound-connection.js";
import type { TcpInboundSettings } from "./tcp-settings.js";

/**
 * Takes in frames by TCP. Where an answer is set, it goes out after the commit, and a connection whose frame cannot be kept is
 * closed without one. Where none is, a frame that cannot be kept at the moment is held, and its sender with it.
 */
export function createTcpSource(parts: SourceParts<TcpInboundSettings>): FramedSource {
  const { framing, answer } = parts.settings;
  const answerTo = (body: Buffer): Buffer | null => {
    if (answer === null) return null;
    const given = typeof answer === "function" ? answer(body) : answer;
    if (typeof given !== "string") return Buffer.from(given);
    const framed = framing.frame(Buffer.from(given));
    if (framed.kind === "framed") return Buffer.from(framed.bytes);
    throw new HoldfastError("BAD_SETTINGS", `The answer of "${parts.name}" cannot be framed: ${framed.reason}.`);
  };
  const protocol: FrameProtocol = {
    framing,
    mute: answer === null,
    acknowledge: (body, receipt) => (receipt.kind === "accepted" ? answerTo(body) : null),
    answer: (body, receipt) => answerOf(receipt, () => answerTo(body)),
    refuse: () => null,
  };
  return new FramedSource(parts, protocol);
}

function answerOf(receipt: Receipt, build: () => Buffer | null): Answer {
  if (receipt.kind === "refused") return { bytes: null, last: true };
  return { bytes: receipt.ack ?? build(), last: false };
}
