import { longestConnection, longestControlId, longestType } from "./engine-contract.js";
import type { ReceivedLine } from "./journal.js";

/** What a sender wrote may hold anything: a zero and half a character are replaced where it shows, and what is long is cut. */
function shown(text: string, longest: number): string {
  const whole = /[\0\p{Surrogate}]/u.test(text) ? Buffer.from(text).toString().replaceAll("\0", "\uFFFD") : text;
  if (whole.length <= longest) return whole;
  // The cut may have halved a character.
  return `${Buffer.from(whole.slice(0, longest - 1))
    .toString()
    .replace(/\uFFFD$/, "")}…`;
}

/** Texts as the journal keeps them, and so as they are looked for. */
export const shownText = {
  connection: (text: string): string => shown(text, longestConnection),
  type: (text: string): string => shown(text, longestType),
  controlId: (text: string): string => shown(text, longestControlId),
} as const;

export function shownLine(line: ReceivedLine): ReceivedLine {
  return {
    ...line,
    connection: shownText.connection(line.connection),
    type: shownText.type(line.type),
    controlId: shownText.controlId(line.controlId),
  };
}
