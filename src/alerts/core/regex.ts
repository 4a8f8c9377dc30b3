import { type CharSet, isIn } from "./char-set.js";
import { type Pattern, PatternError, PatternReader } from "./regex-syntax.js";

/** A pattern that a whole text must match, in time that grows with the text and the pattern and never beyond. */
export interface Regex {
  /** As it was written. */
  readonly source: string;
  matches(text: string): boolean;
}

export type ParsedRegex =
  | { readonly kind: "parsed"; readonly regex: Regex }
  | { readonly kind: "refused"; readonly reason: string };

/** How many steps a pattern may have; each character of a text costs at most so many. */
const mostSteps = 2_000;

export function parseRegex(source: string): ParsedRegex {
  try {
    const reader = new PatternReader(source);
    const pattern = reader.read();
    const steps: Step[] = [];
    append(steps, pattern);
    steps.push({ kind: "done" });
    return { kind: "parsed", regex: { source, matches: (text) => runs(steps, text, reader.ignoresCase) } };
  } catch (error) {
    if (error instanceof PatternError) return { kind: "refused", reason: error.message };
    throw error;
  }
}

/** Steps go on to the one after them, if not told otherwise. */
type Step =
  | { readonly kind: "take"; readonly of: CharSet }
  | { readonly kind: "edge"; readonly at: "start" | "end" }
  /** Go on at each of these. */
  | { readonly kind: "fork"; readonly to: number[] }
  | { readonly kind: "done" };

function push(steps: Step[], step: Step): void {
  if (steps.length >= mostSteps) throw new PatternError("it is too long, with its repetitions written out");
  steps.push(step);
}

function append(steps: Step[], pattern: Pattern): void {
  switch (pattern.kind) {
    case "one":
      return push(steps, { kind: "take", of: pattern.of });
    case "edge":
      return push(steps, pattern);
    case "sequence":
      for (const item of pattern.items) append(steps, item);
      return;
    case "choice":
      return appendChoice(steps, pattern.options);
    case "repeat":
      return appendRepeat(steps, pattern);
  }
}

function appendChoice(steps: Step[], options: readonly Pattern[]): void {
  const starts: number[] = [];
  const ends: number[][] = [];
  push(steps, { kind: "fork", to: starts });
  for (const option of options) {
    starts.push(steps.length);
    append(steps, option);
    const end: number[] = [];
    push(steps, { kind: "fork", to: end });
    ends.push(end);
  }
  for (const end of ends) end.push(steps.length);
}

function appendRepeat(steps: Step[], { of, least, most }: Extract<Pattern, { kind: "repeat" }>): void {
  for (let times = 0; times < least; times += 1) append(steps, of);
  if (most === null) {
    const fork: number[] = [];
    const back = steps.length;
    push(steps, { kind: "fork", to: fork });
    fork.push(steps.length);
    append(steps, of);
    push(steps, { kind: "fork", to: [back] });
    fork.push(steps.length);
    return;
  }
  const forks: number[][] = [];
  for (let times = least; times < most; times += 1) {
    const fork: number[] = [];
    push(steps, { kind: "fork", to: fork });
    fork.push(steps.length);
    forks.push(fork);
    append(steps, of);
  }
  for (const fork of forks) fork.push(steps.length);
}

/** All ways through the pattern are gone at once, a character at a time, so that none is ever gone back on. */
function runs(steps: readonly Step[], text: string, folded: boolean): boolean {
  const codes = Array.from(text, (character) => character.codePointAt(0) ?? 0);
  let current = reached(steps, [0], codes.length === 0, true);
  for (const [index, code] of codes.entries()) {
    if (current.size === 0) return false;
    const after: number[] = [];
    for (const place of current) {
      const step = steps[place];
      if (step?.kind === "take" && isIn(step.of, code, folded)) after.push(place + 1);
    }
    current = reached(steps, after, index === codes.length - 1, false);
  }
  return current.has(steps.length - 1);
}

/** The steps that are reached without a further character. */
function reached(steps: readonly Step[], from: readonly number[], atEnd: boolean, atStart: boolean): Set<number> {
  const seen = new Set<number>();
  const open = [...from];
  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    const step = steps[place];
    if (step === undefined || seen.has(place)) continue;
    seen.add(place);
    if (step.kind === "fork") open.push(...step.to);
    else if (step.kind === "edge" && (step.at === "start" ? atStart : atEnd)) open.push(place + 1);
  }
  return seen;
}
