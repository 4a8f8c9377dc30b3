import { type CronCase, cases, type WallTime, zones } from "./cases.js";

/**
 * Every tick that a year should have, found in another way than the schedules find theirs: minute by minute, with a clock on
 * the wall of each zone, and the expressions written out by hand.
 */
export const year = { from: Date.parse("2026-01-01T00:00:00Z"), to: Date.parse("2027-01-01T00:00:00Z") };

const minuteMs = 60_000;
/** No zone of the cases changes its clocks but at the full or the half hour. */
const slotMs = 30 * minuteMs;

interface Moment {
  readonly instant: number;
  /** What the wall shows. */
  readonly shown: WallTime;
  /** It has shown that before. */
  readonly isAgain: boolean;
  /** What it jumped over just now. */
  readonly leftOut: readonly WallTime[];
}

export interface Almanac {
  /** In rising order, by the name of the case. */
  readonly ticks: ReadonlyMap<string, readonly number[]>;
  /** When clocks change. */
  readonly changes: readonly number[];
  /** How many ticks stand for a time that was jumped over, and how many times were left alone as they came again. */
  readonly jumped: number;
  readonly again: number;
}

function wallTime(local: number): WallTime {
  const date = new Date(local);
  return { hour: date.getUTCHours(), minute: date.getUTCMinutes(), day: date.getUTCDate(), weekday: date.getUTCDay() };
}

function* moments(zone: string, changes: number[]): Generator<Moment> {
  const format = new Intl.DateTimeFormat("sv-SE", { timeZone: zone, dateStyle: "short", timeStyle: "medium" });
  let farthest = Number.NaN;
  let lastOffset = Number.NaN;
  for (let slot = year.from - slotMs; slot < year.to; slot += slotMs) {
    const offset = Date.parse(`${format.format(slot).replace(" ", "T")}Z`) - slot;
    if (offset !== lastOffset && !Number.isNaN(lastOffset)) changes.push(slot);
    lastOffset = offset;
    for (let instant = slot; instant < slot + slotMs; instant += minuteMs) {
      const local = instant + offset;
      const leftOut: WallTime[] = [];
      for (let at = farthest + minuteMs; at < local; at += minuteMs) leftOut.push(wallTime(at));
      if (instant > year.from) yield { instant, shown: wallTime(local), isAgain: local <= farthest, leftOut };
      farthest = Number.isNaN(farthest) ? local : Math.max(farthest, local);
    }
  }
}

function isTick({ names, roundTheClock }: CronCase, { shown, isAgain, leftOut }: Moment): boolean {
  if (roundTheClock) return names(shown);
  return (names(shown) && !isAgain) || leftOut.some(names);
}

let made: Almanac | null = null;

export function almanac(): Almanac {
  made ??= make();
  return made;
}

function make(): Almanac {
  const ticks = new Map(cases.map(({ name }) => [name, [] as number[]]));
  const changes: number[] = [];
  let jumped = 0;
  let again = 0;
  for (const zone of zones) {
    const here = cases.filter((each) => each.zone === zone);
    for (const moment of moments(zone, changes)) {
      for (const each of here) {
        if (isTick(each, moment)) {
          ticks.get(each.name)?.push(...each.seconds.map((second) => moment.instant + second * 1_000));
          if (!each.roundTheClock && moment.leftOut.some(each.names)) jumped += 1;
        } else if (each.names(moment.shown)) again += 1;
      }
    }
  }
  return { ticks, changes, jumped, again };
}
