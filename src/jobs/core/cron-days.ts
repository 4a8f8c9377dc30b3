import { FieldError, fieldKinds, numberOf, valuesOf } from "./cron-fields.js";

/** A day of the calendar, as the two day fields of an expression look at it. */
export interface CalendarDay {
  readonly day: number;
  /** Sunday is 0. */
  readonly weekday: number;
  readonly daysInMonth: number;
}

/** Which days two fields mean together. */
export interface DayRule {
  readonly days: ReadonlySet<number>;
  /** `L`: the last day of the month. */
  readonly lastDay: boolean;
  readonly weekdays: ReadonlySet<number>;
  /** `FRI#2`: the second Friday of the month. */
  readonly nth: readonly { readonly weekday: number; readonly n: number }[];
  /** `FRIL`: the last Friday of the month. */
  readonly lastWeekdays: ReadonlySet<number>;
  /** Both fields are restricted: a day that either of them names will do. Otherwise it has to satisfy both. */
  readonly either: boolean;
}

export function parseDays(dayField: string, weekdayField: string): DayRule {
  const month = parseMonthDays(dayField);
  const week = parseWeekdays(weekdayField);
  return { ...month, ...week, either: isRestricted(dayField) && isRestricted(weekdayField) };
}

/** As in every cron since the first: a field that begins with a star restricts nothing in this sense, also with a step. */
const isRestricted = (field: string): boolean => !/^[*?]/.test(field);

const withoutQuestion = (field: string): string => (field === "?" ? "*" : field);

function parseMonthDays(field: string): Pick<DayRule, "days" | "lastDay"> {
  const days = new Set<number>();
  let lastDay = false;
  for (const part of withoutQuestion(field).split(",")) {
    if (part === "L") lastDay = true;
    else for (const day of valuesOf(part, fieldKinds.dayOfMonth)) days.add(day);
  }
  return { days, lastDay };
}

function parseWeekdays(field: string): Pick<DayRule, "weekdays" | "nth" | "lastWeekdays"> {
  const weekdays = new Set<number>();
  const lastWeekdays = new Set<number>();
  const nth: { weekday: number; n: number }[] = [];
  for (const part of withoutQuestion(field).split(",")) {
    const counted = /^([^#]+)#(.*)$/.exec(part);
    const last = /^(\d|[A-Z]{3})L$/.exec(part);
    if (counted !== null) nth.push({ weekday: weekdayOf(counted[1] ?? ""), n: countOf(counted[2] ?? "", part) });
    else if (last !== null) lastWeekdays.add(weekdayOf(last[1] ?? ""));
    else for (const weekday of valuesOf(part, fieldKinds.weekday)) weekdays.add(weekday % 7);
  }
  return { weekdays, nth, lastWeekdays };
}

const weekdayOf = (text: string): number => numberOf(text, fieldKinds.weekday) % 7;

function countOf(text: string, part: string): number {
  if (!/^[1-5]$/.test(text)) throw new FieldError(`day of the week: the count of "${part}" is not between 1 and 5`);
  return Number(text);
}

export function fitsDay(rule: DayRule, date: CalendarDay): boolean {
  const byMonth = rule.days.has(date.day) || (rule.lastDay && date.day === date.daysInMonth);
  const byWeek =
    rule.weekdays.has(date.weekday) ||
    (rule.lastWeekdays.has(date.weekday) && date.day + 7 > date.daysInMonth) ||
    rule.nth.some(({ weekday, n }) => weekday === date.weekday && Math.ceil(date.day / 7) === n);
  return rule.either ? byMonth || byWeek : byMonth && byWeek;
}
