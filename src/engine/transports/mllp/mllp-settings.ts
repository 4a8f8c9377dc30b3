import { Fields } from "../setting-fields.js";
import { type LinkSettings, linkFields, readLink } from "../tcp/link-settings.js";
import { type ListenerSettings, listenerFields, readListener } from "../tcp/listener-settings.js";
import type { Checked } from "../transport.js";

export interface MllpInboundSettings extends ListenerSettings {
  /** How many bytes between two frames are skipped; 0 closes the connection at the first. */
  readonly maxGarbageBytes: number;
}

export interface MllpOutboundSettings extends LinkSettings {
  /** "ack": judged by its code and control id. "any": whatever comes is good. "none": nothing is waited for. */
  readonly answer: "ack" | "any" | "none";
  /** Whether the acknowledgement must carry the control id of the message. */
  readonly matchControlId: boolean;
}

export function checkMllpInbound(given: unknown, where: string): Checked<MllpInboundSettings> {
  const fields = new Fields(given, where, [...listenerFields, "maxGarbageBytes"]);
  const listener = readListener(fields);
  const maxGarbageBytes = fields.whole("maxGarbageBytes", 1_024, { min: 0, max: 1_048_576 });
  return fields.checked({ ...listener, maxGarbageBytes });
}

export function checkMllpOutbound(given: unknown, where: string): Checked<MllpOutboundSettings> {
  const fields = new Fields(given, where, [...linkFields, "answer", "matchControlId"]);
  const link = readLink(fields);
  const answer = fields.oneOf("answer", ["ack", "any", "none"] as const, "ack");
  return fields.checked({ ...link, answer, matchControlId: fields.flag("matchControlId", true) });
}
