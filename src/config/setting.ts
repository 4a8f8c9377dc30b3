import { invariant } from "../errors.js";
import { type Duration, parseDuration } from "./duration.js";
import { nearest } from "./nearest.js";
import { Secret } from "./secret.js";

/** What a given value turns out to be: a value, or how the sentence "X must be ..." ends, with a hint after it. */
export type Reading<Value> = { readonly value: Value } | { readonly mustBe: string; readonly hint?: string };

/** One setting: what it falls back to, what it means, and how a given value is read. `Given` is how the library takes it. */
export interface Setting<Value, Given = Value> {
  readonly fallback: Value;
  readonly doc: string;
  readonly read: (given: unknown) => Reading<Value>;
  /** A text of the environment as `read` takes it. What it cannot make sense of it passes on, for `read` to refuse. */
  readonly fromText: (text: string) => unknown;
  /** As a person is shown it; as JSON where nothing else is said. */
  readonly show?: (value: never) => string;
  /** It has no default: whoever writes the table has to say it. */
  readonly required?: true;
  /** Whatever is wrong with it, an error does not show it. */
  readonly hidden?: true;
  /** A file is copied, committed and mailed: this one is taken from the environment, or from the library's caller. */
  readonly notInFile?: true;
  /** Only for the compiler. */
  readonly given?: Given;
}

interface Range {
  readonly min: number;
  readonly max: number;
}

const asWritten = (text: string): unknown => text;
const asNumber = (text: string): unknown => (/^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text);

export function text(fallback: string, doc: string): Setting<string> {
  return matching(fallback, /^/, "a text", doc);
}

export function matching(fallback: string, pattern: RegExp, mustBe: string, doc: string): Setting<string> {
  return {
    fallback,
    doc,
    fromText: asWritten,
    read: (given) => (typeof given === "string" && pattern.test(given) ? { value: given } : { mustBe }),
  };
}

/** The same setting without a default. */
export function required<Value, Given>(setting: Setting<Value, Given>): Setting<Value, Given> {
  return { ...setting, required: true };
}

export function secret(doc: string): Setting<Secret, string | Secret> {
  return {
    fallback: new Secret(""),
    doc,
    hidden: true,
    show: String,
    fromText: asWritten,
    read: (given) => {
      if (given instanceof Secret) return { value: given };
      return typeof given === "string" ? { value: new Secret(given) } : { mustBe: "a text" };
    },
  };
}

/** A secret that a file must not hold. */
export function environmentSecret(doc: string): Setting<Secret, string | Secret> {
  return { ...secret(doc), notInFile: true };
}

export function flag(fallback: boolean, doc: string): Setting<boolean> {
  const written: Readonly<Record<string, boolean>> = { true: true, "1": true, false: false, "0": false };
  return {
    fallback,
    doc,
    fromText: (text) => (Object.hasOwn(written, text) ? written[text] : text),
    read: (given) => (typeof given === "boolean" ? { value: given } : { mustBe: "true or false" }),
  };
}

export function integer(fallback: number, range: Range, doc: string): Setting<number> {
  return numeric(fallback, `a whole number from ${range.min} to ${range.max}`, doc, (given) =>
    within(range, Number.isInteger(given), given),
  );
}

export function seconds(fallback: number, range: Range, doc: string): Setting<number> {
  return numeric(fallback, `a number of seconds from ${range.min} to ${range.max}`, doc, (given) =>
    within(range, Number.isFinite(given), given),
  );
}

const within = (range: Range, sound: boolean, given: number): boolean =>
  sound && given >= range.min && given <= range.max;

function numeric(fallback: number, mustBe: string, doc: string, fits: (given: number) => boolean): Setting<number> {
  return {
    fallback,
    doc,
    fromText: asNumber,
    read: (given) => (typeof given === "number" && fits(given) ? { value: given } : { mustBe }),
  };
}

/** A whole number of 64 bits, for which the numbers of JavaScript are too short. */
export function wideInteger(doc: string): Setting<bigint | null, number | bigint> {
  return {
    fallback: null,
    doc,
    show: String,
    fromText: (text) => (/^(-?\d{1,19}|0x[0-9a-fA-F]{1,16})$/.test(text) ? BigInt(text) : text),
    read: (given) => {
      const wide = typeof given === "number" && Number.isSafeInteger(given) ? BigInt(given) : given;
      return typeof wide === "bigint" && wide === BigInt.asIntN(64, wide)
        ? { value: wide }
        : { mustBe: "a whole number of 64 bits" };
    },
  };
}

export function oneOf<Choice extends string>(
  choices: readonly [Choice, ...Choice[]],
  doc: string,
  fallback: NoInfer<Choice> = choices[0],
): Setting<Choice> {
  const mustBe = `one of ${quoted(choices)}`;
  return {
    fallback,
    doc,
    fromText: asWritten,
    read: (given) => (choices.includes(given as Choice) ? { value: given as Choice } : { mustBe }),
  };
}

/** A list of some of the choices, all of them by default. */
export function someOf<Choice extends string>(choices: readonly Choice[], doc: string): Setting<readonly Choice[]> {
  return listOf(choices, `a list of ${quoted(choices)}, each at most once`, doc, (item) => {
    if (choices.includes(item as Choice)) return { value: item as Choice };
    const meant = typeof item === "string" ? nearest(item, choices) : null;
    return meant === null ? { mustBe: "" } : { mustBe: "", hint: `Did you mean "${meant}"?` };
  });
}

/** A list without repetitions. What one item must be is said by the list. */
export function listOf<Item, GivenItem = Item>(
  fallback: readonly Item[],
  mustBe: string,
  doc: string,
  readItem: (given: unknown) => Reading<Item>,
): Setting<readonly Item[], readonly GivenItem[]> {
  return {
    fallback: Object.freeze([...fallback]),
    doc,
    fromText: (text) => (text.trim() === "" ? [] : text.split(",").map((item) => item.trim())),
    read: (given) => {
      if (!Array.isArray(given) || new Set(given).size < given.length) return { mustBe };
      const items: Item[] = [];
      for (const item of given) {
        const read = readItem(item);
        if (!("value" in read)) return { ...read, mustBe };
        items.push(read.value);
      }
      return { value: Object.freeze(items) };
    },
  };
}

const quoted = (choices: readonly string[]): string => choices.map((choice) => `"${choice}"`).join(", ");

export function duration(fallback: string, doc: string): Setting<Duration, string> {
  const standing = parseDuration(fallback);
  invariant(standing !== null, `"${fallback}" is no duration`);
  return {
    fallback: standing,
    doc,
    show: ({ written }: Duration) => JSON.stringify(written),
    fromText: asWritten,
    read: (given) => {
      const value = typeof given === "string" ? parseDuration(given) : null;
      return value === null ? { mustBe: 'a duration like "500ms", "5s" or "1m"' } : { value };
    },
  };
}

/** A value as a person is shown it, which for a secret is whether there is one. */
export function showValue(setting: Setting<unknown>, value: unknown): string {
  return setting.show === undefined ? JSON.stringify(value) : setting.show(value as never);
}
