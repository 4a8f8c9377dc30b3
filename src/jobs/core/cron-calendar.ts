import { type DayRule, fitsDay } from "./cron-days.js";

/**
 * The calendar without zones: a local time is the number of milliseconds since 1970 that the clock on the wall would show if it
 * hung in UTC.
 */
export const secondMs = 1_000;
export const dayMs = 86_400_000;

/** The longest that a day can be away which exists at all: 29 February on a given day of the week, over the year 2100. */
const farthestYears = 41;

interface CalendarDate {
  readonly year: number;
  readonly month: number;
  readonly day: number;
}

/** The part of an expression that the calendar looks at. */
export interface LocalTimes {
  readonly seconds: readonly number[];
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  readonly months: ReadonlySet<number>;
  readonly days: DayRule;
}

/** The first local time at or after this one that the expression names; null where there is none. */
export function firstLocal(times: LocalTimes, atMs: number): number | null {
  const second = Math.ceil(atMs / secondMs);
  const today = Math.floor(second / 86_400);
  if (fits(times, today)) {
    const later = firstTime(times, second - today * 86_400);
    if (later !== null) return (today * 86_400 + later) * secondMs;
  }
  const day = firstDay(times, today + 1);
  const time = firstTime(times, 0);
  return day === null || time === null ? null : (day * 86_400 + time) * secondMs;
}

function firstDay(times: LocalTimes, from: number): number | null {
  const start = dateOf(from);
  let month = start.month;
  let year = start.year;
  let first = from;
  while (year <= start.year + farthestYears) {
    const length = daysIn(year, month);
    const end = daysSince1970({ year, month, day: length });
    if (times.months.has(month)) {
      for (let day = first; day <= end; day += 1) if (fits(times, day)) return day;
    }
    first = end + 1;
    month = (month % 12) + 1;
    if (month === 1) year += 1;
  }
  return null;
}

function fits(times: LocalTimes, dayNumber: number): boolean {
  const { year, month, day } = dateOf(dayNumber);
  if (!times.months.has(month)) return false;
  // 1 January 1970 was a Thursday.
  const weekday = (((dayNumber + 4) % 7) + 7) % 7;
  return fitsDay(times.days, { day, weekday, daysInMonth: daysIn(year, month) });
}

/** The first second of the day at or after this one; null where the rest of the day has none. */
function firstTime({ hours, minutes, seconds }: LocalTimes, from: number): number | null {
  const hour = Math.floor(from / 3_600);
  const minute = Math.floor(from / 60) % 60;
  if (hours.includes(hour)) {
    if (minutes.includes(minute)) {
      const second = atLeast(seconds, from % 60);
      if (second !== undefined) return hour * 3_600 + minute * 60 + second;
    }
    const next = atLeast(minutes, minute + 1);
    if (next !== undefined) return hour * 3_600 + next * 60 + (seconds[0] ?? 0);
  }
  const next = atLeast(hours, hour + 1);
  return next === undefined ? null : next * 3_600 + (minutes[0] ?? 0) * 60 + (seconds[0] ?? 0);
}

const atLeast = (sorted: readonly number[], value: number): number | undefined => sorted.find((each) => each >= value);

const isLeap = (year: number): boolean => year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);

function daysIn(year: number, month: number): number {
  if (month === 2) return isLeap(year) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

/** Counted in years that begin in March, so that the day which comes and goes is the last one. */
export function daysSince1970({ year, month, day }: CalendarDate): number {
  const years = month > 2 ? year : year - 1;
  const leaps = Math.floor(years / 4) - Math.floor(years / 100) + Math.floor(years / 400);
  const monthsSinceMarch = (month + 9) % 12;
  const daysBefore = Math.floor((153 * monthsSinceMarch + 2) / 5);
  // 719,468 days lie between 1 March of the year 0 and 1 January 1970.
  return years * 365 + leaps + daysBefore + day - 1 - 719_468;
}

export function yearOf(dayNumber: number): number {
  let year = 1970 + Math.floor(dayNumber / 365.2425);
  while (daysSince1970({ year, month: 1, day: 1 }) > dayNumber) year -= 1;
  while (daysSince1970({ year: year + 1, month: 1, day: 1 }) <= dayNumber) year += 1;
  return year;
}

function dateOf(dayNumber: number): CalendarDate {
  const year = yearOf(dayNumber);
  let day = dayNumber - daysSince1970({ year, month: 1, day: 1 }) + 1;
  let month = 1;
  while (day > daysIn(year, month)) {
    day -= daysIn(year, month);
    month += 1;
  }
  return { year, month, day };
}
