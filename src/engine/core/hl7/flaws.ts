import { fitsCharset } from "./charset.js";
import { pieces } from "./element.js";
import type { Line } from "./lines.js";
import type { Syntax } from "./segment.js";
import { Hl7Segment } from "./segment.js";
import { segmentName, statesSeparators } from "./separators.js";

/** Something wrong with a message that did not keep it from being read. Its bytes are as they came. */
export interface Hl7Flaw {
  readonly kind: "unfit_bytes" | "stray_line" | "second_header" | "unknown_charset";
  /** `OBX[2]-5`, or `line 7` where it is no segment. */
  readonly place: string;
  /** One line. */
  readonly reason: string;
}

export function flawsOf(lines: readonly Line[], syntax: Syntax): readonly Hl7Flaw[] {
  const { charset, separators } = syntax;
  const counts = new Map<string, number>();
  const flaws: Hl7Flaw[] = [];
  if (charset.standsInFor !== undefined) {
    const reason = `MSH-18 is ${JSON.stringify(charset.standsInFor)}, which is not known; read as ${charset.name}.`;
    flaws.push({ kind: "unknown_charset", place: "MSH[1]-18", reason });
  }
  for (const [at, { body }] of lines.entries()) {
    const name = segmentName(body, separators);
    if (name === null) {
      const reason = `It begins with no segment's name; a line end may stand in the text before it.`;
      if (body.length > 0) flaws.push({ kind: "stray_line", place: `line ${at + 1}`, reason });
      continue;
    }
    const number = (counts.get(name) ?? 0) + 1;
    counts.set(name, number);
    const segment = new Hl7Segment(name, number, body, syntax);
    if (at > 0 && statesSeparators(name)) {
      const reason = `There is another ${name}: more than one message came as one.`;
      flaws.push({ kind: "second_header", place: segment.place, reason });
    }
    flaws.push(...unfitFields(segment, syntax));
  }
  return flaws;
}

function unfitFields(segment: Hl7Segment, { charset, separators }: Syntax): readonly Hl7Flaw[] {
  const bytes = segment.toBytes();
  if (fitsCharset(charset, bytes)) return [];
  // The name comes before the first field; in MSH the first field is the separator after it.
  const offset = statesSeparators(segment.name) ? 1 : 0;
  return pieces(segment.scan, { from: 0, to: bytes.length }, separators.field).flatMap(({ from, to }, at) => {
    if (fitsCharset(charset, bytes.subarray(from, to))) return [];
    const reason = `It holds bytes that are not ${charset.name}.`;
    return { kind: "unfit_bytes" as const, place: `${segment.place}-${at + offset}`, reason };
  });
}
