import { asciiBytes, joined, noBytes } from "./bytes.js";
import type { FieldPath } from "./path.js";
import { type Separators, statesSeparators } from "./separators.js";

/** From the first byte up to before the last. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** A step into a line: which of the pieces between separators, from 1, or all of them. */
export interface Step {
  readonly separator: string;
  readonly number: number | "all";
  /** Repetitions move up when one is removed; the others have their meaning by their number. */
  readonly movesUp: boolean;
}

/** The steps that lead to a place. Repetitions that were not named are the first one, or all of them for `everyRepetition`. */
export function stepsTo(
  place: FieldPath,
  segment: string,
  separators: Separators,
  { everyRepetition = false }: { readonly everyRepetition?: boolean } = {},
): readonly Step[] {
  const { field, repetition, component, subcomponent } = place;
  // The name of a segment comes first; in MSH the first field is the separator after it.
  const first = statesSeparators(segment) ? field : field + 1;
  const steps: Step[] = [{ separator: separators.field, number: first, movesUp: false }];
  if (repetition !== null || component !== null || everyRepetition) {
    const number = repetition ?? (everyRepetition ? "all" : 1);
    steps.push({ separator: separators.repetition, number, movesUp: true });
  }
  if (component !== null) steps.push({ separator: separators.component, number: component, movesUp: false });
  if (subcomponent !== null) steps.push({ separator: separators.subcomponent, number: subcomponent, movesUp: false });
  return steps;
}

/** Where the places lie that the steps lead to, in order. */
export function spansAt(scan: Uint8Array, steps: readonly Step[]): readonly Span[] {
  let spans: readonly Span[] = [{ from: 0, to: scan.length }];
  for (const { separator, number } of steps) {
    spans = spans.flatMap((span) => {
      if (number === "all") return pieces(scan, span, separator);
      return pieceAt(scan, span, separator, number) ?? [];
    });
  }
  return spans;
}

/** All pieces between the separators of a stretch, which are at least one. */
export function pieces(scan: Uint8Array, { from, to }: Span, separator: string): readonly Span[] {
  const bounded = scan.subarray(0, to);
  const spans: Span[] = [];
  for (let begin = from; begin <= to; ) {
    const end = nextSeparator(bounded, separator, begin);
    spans.push({ from: begin, to: end });
    begin = end + 1;
  }
  return spans;
}

function pieceAt(scan: Uint8Array, { from, to }: Span, separator: string, number: number): Span | null {
  const bounded = scan.subarray(0, to);
  let begin = from;
  for (let count = 1; ; count++) {
    const end = nextSeparator(bounded, separator, begin);
    if (count === number) return { from: begin, to: end };
    if (end >= to) return null;
    begin = end + 1;
  }
}

/** Where the next one stands, or the end of what is looked through. */
function nextSeparator(bounded: Uint8Array, separator: string, from: number): number {
  const at = separator === "" ? -1 : bounded.indexOf(separator.charCodeAt(0), from);
  return at < 0 ? bounded.length : at;
}

/**
 * The line with another value at a place, and every other byte as it was. Separators are added up to the place where it is not
 * there yet. Null takes the value away: a repetition goes with its separator, and so does whatever is the last of its kind;
 * what has others behind it becomes empty, since they must not move.
 */
export function replaced(
  bytes: Uint8Array,
  scan: Uint8Array,
  steps: readonly Step[],
  value: Uint8Array | null,
): Uint8Array {
  const spans: Span[] = [{ from: 0, to: bytes.length }];
  for (const [depth, { separator, number }] of steps.entries()) {
    const parent = spans[depth] ?? { from: 0, to: bytes.length };
    const span = number === "all" ? parent : pieceAt(scan, parent, separator, number);
    if (span === null) {
      if (value === null) return bytes;
      return spliced(bytes, { from: parent.to, to: parent.to }, extension(scan, parent, steps.slice(depth), value));
    }
    spans.push(span);
  }
  const span = spans.at(-1) ?? { from: 0, to: bytes.length };
  if (value !== null) return spliced(bytes, span, value);
  return spliced(bytes, cutOf(span, spans.at(-2) ?? span, steps.at(-1)?.movesUp ?? false), noBytes);
}

/** What has to stand at the end of `parent`, so that the first of the steps leads to the value. */
function extension(scan: Uint8Array, parent: Span, steps: readonly Step[], value: Uint8Array): Uint8Array {
  const parts = steps.map(({ separator, number }, depth) => {
    const there = depth === 0 ? pieces(scan, parent, separator).length : 1;
    return asciiBytes(separator.repeat(Math.max(0, Number(number) - there)));
  });
  return joined([...parts, value]);
}

function cutOf(span: Span, parent: Span, movesUp: boolean): Span {
  if (span.to === parent.to && span.from > parent.from) return { from: span.from - 1, to: span.to };
  return movesUp && span.to < parent.to ? { from: span.from, to: span.to + 1 } : span;
}

function spliced(bytes: Uint8Array, { from, to }: Span, value: Uint8Array): Uint8Array {
  return joined([bytes.subarray(0, from), value, bytes.subarray(to)]);
}
