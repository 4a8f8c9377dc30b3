import { firstLocal } from "./cron-calendar.js";
import { type DayRule, parseDays } from "./cron-days.js";
import { FieldError, type FieldKind, fieldKinds, valuesOf } from "./cron-fields.js";

/** When a cron fires, by the clock on the wall; in which zone that hangs is said elsewhere. */
export interface CronExpression {
  /** As it was written, with single spaces, in capitals: two of one text mean the same. */
  readonly text: string;
  /** Each in rising order. */
  readonly seconds: readonly number[];
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  readonly months: ReadonlySet<number>;
  readonly days: DayRule;
}

export type ParsedCron =
  | { readonly kind: "parsed"; readonly expression: CronExpression }
  | { readonly kind: "refused"; readonly reason: string };

const longestText = 200;

/** Five fields, or six with the seconds in front. The reason of a refusal is one line, to be shown as it is. */
export function parseCron(given: string): ParsedCron {
  const text = given.trim().replaceAll(/\s+/g, " ").toUpperCase();
  if (text.length > longestText) return { kind: "refused", reason: `it is longer than ${longestText} characters` };
  try {
    const expression = parseFields(text);
    // Far enough back that every kind of year lies ahead.
    if (firstLocal(expression, 0) === null) return { kind: "refused", reason: "there is no such day in any year" };
    return { kind: "parsed", expression };
  } catch (error) {
    if (error instanceof FieldError) return { kind: "refused", reason: error.message };
    throw error;
  }
}

function parseFields(text: string): CronExpression {
  const fields = text === "" ? [] : text.split(" ");
  if (fields.length !== 5 && fields.length !== 6) {
    throw new FieldError(`it has ${fields.length} fields instead of five, or six with the seconds in front`);
  }
  const [second = "", minute = "", hour = "", day = "", month = "", weekday = ""] =
    fields.length === 5 ? ["0", ...fields] : fields;
  return {
    text,
    seconds: listOf(second, fieldKinds.second),
    minutes: listOf(minute, fieldKinds.minute),
    hours: listOf(hour, fieldKinds.hour),
    months: new Set(listOf(month, fieldKinds.month)),
    days: parseDays(day, weekday),
  };
}

function listOf(field: string, kind: FieldKind): readonly number[] {
  const values = new Set(field.split(",").flatMap((part) => valuesOf(part, kind)));
  return [...values].sort((a, b) => a - b);
}
