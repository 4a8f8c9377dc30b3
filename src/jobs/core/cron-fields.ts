/** One of the six places of a cron expression: what it may hold, and how it is called in an error. */
export interface FieldKind {
  readonly name: string;
  readonly min: number;
  readonly max: number;
  /** Three letters each, counted from `min`. */
  readonly words: readonly string[];
}

const plain = (name: string, max: number): FieldKind => ({ name, min: 0, max, words: [] });

export const fieldKinds = {
  second: plain("second", 59),
  minute: plain("minute", 59),
  hour: plain("hour", 23),
  dayOfMonth: { name: "day of the month", min: 1, max: 31, words: [] },
  month: {
    name: "month",
    min: 1,
    max: 12,
    words: ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"],
  },
  /** Sunday is 0 and 7. */
  weekday: { name: "day of the week", min: 0, max: 7, words: ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"] },
} as const satisfies Record<string, FieldKind>;

/** What a field says that is wrong. Told to the caller as a value by `parseCron`. */
export class FieldError extends Error {}

/** The values that a part of a list stands for: `*`, `5`, `1-5`, each also with a step. */
export function valuesOf(part: string, kind: FieldKind): readonly number[] {
  const [range = "", step, ...rest] = part.split("/");
  if (rest.length > 0 || range === "") throw new FieldError(`${kind.name}: "${part}" is not understood`);
  const by = step === undefined ? 1 : stepOf(step, part, kind);
  const [from, to] = boundsOf(range, step !== undefined, kind);
  const values: number[] = [];
  for (let value = from; value <= to; value += by) values.push(value);
  return values;
}

function boundsOf(range: string, isStepped: boolean, kind: FieldKind): readonly [number, number] {
  // Sunday is there twice in 0-7, and "*/2" would count on past Saturday.
  const last = kind === fieldKinds.weekday ? 6 : kind.max;
  if (range === "*") return [kind.min, last];
  const [first = "", end, ...rest] = range.split("-");
  if (rest.length > 0) throw new FieldError(`${kind.name}: "${range}" is not understood`);
  const from = numberOf(first, kind);
  if (end === undefined) return [from, isStepped ? Math.max(from, last) : from];
  let to = numberOf(end, kind);
  if (kind === fieldKinds.weekday && to === 0 && from > 0) to = 7;
  if (to < from) {
    throw new FieldError(`${kind.name}: "${range}" runs backwards; write it as two ranges with a comma`);
  }
  return [from, to];
}

export function numberOf(text: string, kind: FieldKind): number {
  const word = kind.words.indexOf(text);
  if (word >= 0) return kind.min + word;
  if (!/^\d{1,2}$/.test(text)) throw new FieldError(`${kind.name}: "${text}" is not understood`);
  const value = Number(text);
  if (value < kind.min || value > kind.max) {
    throw new FieldError(`${kind.name}: ${value} is not between ${kind.min} and ${kind.max}`);
  }
  return value;
}

function stepOf(step: string, part: string, kind: FieldKind): number {
  const value = /^\d{1,2}$/.test(step) ? Number(step) : 0;
  if (value < 1 || value > kind.max) {
    throw new FieldError(`${kind.name}: the step of "${part}" is not between 1 and ${kind.max}`);
  }
  return value;
}
