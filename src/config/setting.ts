import { HoldfastError } from "../errors.js";

/** One setting: what it falls back to, what it means, and how a given value is read. */
export interface Setting<Value> {
  readonly fallback: Value;
  readonly doc: string;
  /** Returns the value, or a sentence's end that says what it must be. */
  readonly read: (given: unknown) => { readonly value: Value } | { readonly mustBe: string };
}

const ok = <Value>(value: Value): { value: Value } => ({ value });

export function text(fallback: string, doc: string): Setting<string> {
  return { fallback, doc, read: (given) => (typeof given === "string" ? ok(given) : { mustBe: "a text" }) };
}

export function flag(fallback: boolean, doc: string): Setting<boolean> {
  return { fallback, doc, read: (given) => (typeof given === "boolean" ? ok(given) : { mustBe: "true or false" }) };
}

export function integer(fallback: number, range: { min: number; max: number }, doc: string): Setting<number> {
  const mustBe = `a whole number from ${range.min} to ${range.max}`;
  return {
    fallback,
    doc,
    read: (given) =>
      typeof given === "number" && Number.isInteger(given) && given >= range.min && given <= range.max
        ? ok(given)
        : { mustBe },
  };
}

export function seconds(fallback: number, range: { min: number; max: number }, doc: string): Setting<number> {
  const mustBe = `a number of seconds from ${range.min} to ${range.max}`;
  return {
    fallback,
    doc,
    read: (given) =>
      typeof given === "number" && Number.isFinite(given) && given >= range.min && given <= range.max
        ? ok(given)
        : { mustBe },
  };
}

export function oneOf<Choice extends string>(choices: readonly [Choice, ...Choice[]], doc: string): Setting<Choice> {
  const mustBe = `one of ${choices.map((choice) => `"${choice}"`).join(", ")}`;
  return {
    fallback: choices[0],
    doc,
    read: (given) => (choices.includes(given as Choice) ? ok(given as Choice) : { mustBe }),
  };
}

export function list(fallback: readonly string[], doc: string): Setting<readonly string[]> {
  return {
    fallback,
    doc,
    read: (given) =>
      Array.isArray(given) && given.every((item) => typeof item === "string")
        ? ok(given as readonly string[])
        : { mustBe: "a list of texts" },
  };
}

const units = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Durations are written "500ms", "5s", "1m"; read as milliseconds. */
export function duration(fallback: string, doc: string): Setting<string> {
  return {
    fallback,
    doc,
    read: (given) =>
      typeof given === "string" && durationMs(given) !== null
        ? ok(given)
        : { mustBe: 'a duration like "500ms", "5s" or "1m"' },
  };
}

export function durationMs(written: string): number | null {
  const match = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h|d)$/.exec(written);
  if (match === null) return null;
  return Number(match[1]) * units[match[2] as keyof typeof units];
}

export function badSetting(message: string): HoldfastError {
  return new HoldfastError("BAD_SETTINGS", message);
}
