import { Refusal } from "./refusal.js";

const units: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 7 * 86_400_000,
  y: 365 * 86_400_000,
};

/** A duration like `5m` or `1h30m`. A mere number is none: Prometheus takes it only in its newest versions. */
export function readDuration(text: string, at: number): number {
  if (!/^(\d+(ms|[smhdwy]))+$/.test(text)) throw new Refusal(at, `"${text}" is no duration like "5m" or "1h30m"`);
  const parts = [...text.matchAll(/(\d+)(ms|[smhdwy])/g)];
  return parts.reduce((sum, [, count = "", unit = ""]) => sum + Number(count) * (units[unit] ?? 0), 0);
}

/** A number as Prometheus has always taken it: without `_`, and not a duration. A sign before it is not part of it. */
export function readNumber(text: string, at: number): number {
  const value = unsigned(text.replace(/^[+-]\s*/, ""));
  if (value === null) throw new Refusal(at, `"${text}" is no number`);
  return value;
}

function unsigned(digits: string): number | null {
  if (/^inf$/i.test(digits)) return Number.POSITIVE_INFINITY;
  if (/^nan$/i.test(digits)) return Number.NaN;
  if (/^0x[0-9a-f]+$/i.test(digits)) return Number(digits);
  // A leading zero is octal to Prometheus, which nobody means.
  return /^(0|[1-9]\d*|(0|[1-9]\d*)?\.\d+|[1-9]\d*(?=e)|0(?=e))(e[+-]?\d+)?$/i.test(digits) ? Number(digits) : null;
}

const simpleEscapes: Readonly<Record<string, string>> = {
  a: "\x07",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
  "\\": "\\",
};

/** A text in quotes of any of the three kinds, without them. Between backticks a backslash is a backslash. */
export function readText(written: string, at: number): string {
  const quote = written.charAt(0);
  const inner = written.slice(1, -1);
  if (written.length < 2 || !written.endsWith(quote)) throw new Refusal(at, "the text has no closing quote");
  if (quote === "`") return inner;
  const escapes = /\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-7]{3}|.)/gsu;
  return inner.replaceAll(escapes, (whole, meant: string, offset: number) => {
    const character = meant === quote ? quote : unescaped(meant);
    if (character === null) throw new Refusal(at + 1 + offset, `"${whole}" means nothing in a text`);
    return character;
  });
}

function unescaped(meant: string): string | null {
  if (Object.hasOwn(simpleEscapes, meant)) return simpleEscapes[meant] ?? null;
  if (meant.length === 1) return null;
  const code = /^[xuU]/.test(meant) ? Number.parseInt(meant.slice(1), 16) : Number.parseInt(meant, 8);
  // Single bytes above 127 would make no text.
  const most = /^[uU]/.test(meant) ? 0x10ffff : 0x7f;
  const isHalf = code >= 0xd800 && code <= 0xdfff;
  return code <= most && !isHalf ? String.fromCodePoint(code) : null;
}
