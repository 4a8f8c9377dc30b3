import { parseDuration } from "../../config/duration.js";
import { similar } from "../../config/nearest.js";
import type { Checked, Problem } from "./transport.js";

interface Range {
  readonly min: number;
  readonly max: number;
}

/** A timer of Node takes no more than this, and nobody means a timeout of weeks. */
const longestMs = 7 * 86_400_000;

/**
 * Reads the fields of settings that a person wrote, one after the other, and gathers what is wrong with them. A field that is
 * wrong reads as its default, so that the others are looked at too; `checked` then answers with the problems.
 */
export class Fields {
  readonly where: string;
  private readonly values: Readonly<Record<string, unknown>>;
  private readonly problems: Problem[];

  constructor(given: unknown, where: string, known: readonly string[], problems: Problem[] = []) {
    this.where = where;
    this.problems = problems;
    this.values = isRecord(given) ? given : {};
    if (!isRecord(given)) this.wrong(`must be an object with the fields ${known.join(", ")}.`);
    for (const field of Object.keys(this.values)) {
      if (known.includes(field)) continue;
      // A secret that was written down where only its variable's name belongs is no question of spelling.
      const meant = known.find((name) => name === `${field}From`) ?? similar(field, known);
      const wayOut = meant === null ? `it takes ${known.join(", ")}.` : `did you mean "${meant}"?`;
      this.wrong(`has no field "${field}": ${wayOut}`);
    }
  }

  /** A sentence about all of it, which begins with where it is. */
  wrong(problem: string): void {
    this.problems.push(`${this.where} ${problem}`);
  }

  bad(field: string, mustBe: string): void {
    this.problems.push(`${this.where}.${field} must be ${mustBe}.`);
  }

  has(field: string): boolean {
    return this.values[field] !== undefined;
  }

  value(field: string): unknown {
    return this.values[field];
  }

  /** A text that is not empty, of one line. */
  text(field: string, fallback: string | null, mustBe = "a text that is not empty"): string {
    return this.matching(field, fallback, /^[^\0\r\n]+$/, mustBe);
  }

  textOrNull(field: string, mustBe = "a text that is not empty"): string | null {
    return this.has(field) ? this.text(field, null, mustBe) : null;
  }

  matching(field: string, fallback: string | null, pattern: RegExp, mustBe: string): string {
    const value = this.values[field] ?? fallback;
    if (typeof value === "string" && pattern.test(value)) return value;
    this.bad(field, mustBe);
    return "";
  }

  /** The name of a variable of the environment, which holds a secret. */
  variable(field: string): string {
    const mustBe =
      "the name of a variable of the environment, like LAB_PASSWORD: the secret itself does not stand here";
    return this.matching(field, null, /^[A-Za-z_][A-Za-z0-9_]{0,199}$/, mustBe);
  }

  flag(field: string, fallback: boolean): boolean {
    const value = this.values[field] ?? fallback;
    if (typeof value === "boolean") return value;
    this.bad(field, "true or false");
    return fallback;
  }

  whole(field: string, fallback: number | null, { min, max }: Range): number {
    const value = this.values[field] ?? fallback;
    if (typeof value === "number" && Number.isInteger(value) && value >= min && value <= max) return value;
    this.bad(field, `a whole number from ${min} to ${max}`);
    return min;
  }

  /** A duration as "500ms", "5s" or "1m"; in milliseconds. */
  duration(field: string, fallback: string, minMs = 1): number {
    const value = this.values[field] ?? fallback;
    const ms = typeof value === "string" ? parseDuration(value)?.ms : undefined;
    if (ms !== undefined && ms >= minMs && ms <= longestMs) return ms;
    this.bad(field, `a duration like "500ms", "5s" or "1m", from ${minMs} ms to 7 days`);
    return minMs;
  }

  oneOf<Choice extends string | number>(field: string, choices: readonly Choice[], fallback: Choice): Choice {
    const value = (this.values[field] ?? fallback) as Choice;
    if (choices.includes(value)) return value;
    this.bad(field, `one of ${choices.map((choice) => JSON.stringify(choice)).join(", ")}`);
    return fallback;
  }

  texts(field: string, fallback: readonly string[], pattern: RegExp, mustBe: string): readonly string[] {
    const value = this.values[field] ?? fallback;
    if (
      Array.isArray(value) &&
      value.length > 0 &&
      value.every((one) => typeof one === "string" && pattern.test(one))
    ) {
      return Object.freeze([...(value as string[])]);
    }
    if (value === fallback) return fallback;
    this.bad(field, `a list of ${mustBe}`);
    return fallback;
  }

  /** Settings within settings; null where they are not given. */
  section(field: string, known: readonly string[]): Fields | null {
    if (!this.has(field)) return null;
    return new Fields(this.values[field], `${this.where}.${field}`, known, this.problems);
  }

  /** The settings, or every problem at once. */
  checked<Settings extends object>(settings: Settings): Checked<Settings> {
    return this.problems.length > 0 ? [...this.problems] : Object.freeze(settings);
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
