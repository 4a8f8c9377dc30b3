/** Characters by their code points, as ranges with both ends in them. */
export interface CharSet {
  readonly ranges: readonly (readonly [number, number])[];
  readonly negated: boolean;
}

const codeOf = (character: string): number => character.codePointAt(0) ?? 0;
const setOf = (...ranges: readonly (readonly [string, string])[]): CharSet => ({
  ranges: ranges.map(([from, to]) => [codeOf(from), codeOf(to)]),
  negated: false,
});

const digits = setOf(["0", "9"]);
const wordCharacters = setOf(["0", "9"], ["A", "Z"], ["_", "_"], ["a", "z"]);
const whitespace = setOf(["\t", "\n"], ["\f", "\r"], [" ", " "]);

export const anyButNewline: CharSet = { ...setOf(["\n", "\n"]), negated: true };

/** The sets that an escape stands for, as `d` of `\d`. */
export const escapedSets: Readonly<Record<string, CharSet>> = {
  d: digits,
  D: { ...digits, negated: true },
  w: wordCharacters,
  W: { ...wordCharacters, negated: true },
  s: whitespace,
  S: { ...whitespace, negated: true },
};

export function single(code: number): CharSet {
  return { ranges: [[code, code]], negated: false };
}

/** All of the sets in one. */
export function union(sets: readonly CharSet[], negated: boolean): CharSet {
  return { ranges: sets.flatMap(plainRanges), negated };
}

const lastCode = 0x10ffff;

function plainRanges({ ranges, negated }: CharSet): readonly (readonly [number, number])[] {
  if (!negated) return ranges;
  const gaps: (readonly [number, number])[] = [];
  let next = 0;
  for (const [from, to] of ranges.toSorted(([a], [b]) => a - b)) {
    if (from > next) gaps.push([next, from - 1]);
    next = Math.max(next, to + 1);
  }
  if (next <= lastCode) gaps.push([next, lastCode]);
  return gaps;
}

/** `folded`: a letter is in the set as a capital too, and the other way round. */
export function isIn({ ranges, negated }: CharSet, code: number, folded: boolean): boolean {
  const isPlainlyIn = (one: number): boolean => ranges.some(([from, to]) => one >= from && one <= to);
  return (isPlainlyIn(code) || (folded && otherCases(code).some(isPlainlyIn))) !== negated;
}

function otherCases(code: number): readonly number[] {
  const character = String.fromCodePoint(code);
  return [codeOf(character.toLowerCase()), codeOf(character.toUpperCase())];
}
