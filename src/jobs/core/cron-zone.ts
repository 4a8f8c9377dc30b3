import { dayMs, daysSince1970, secondMs, yearOf } from "./cron-calendar.js";

/** A stretch of time during which a zone's clocks neither jump forwards nor back. */
export interface Stretch {
  readonly from: number;
  /** The first instant after it. */
  readonly until: number;
  /** Local time minus UTC. */
  readonly offsetMs: number;
}

/**
 * How the clocks of a time zone go, learned from the data that the runtime itself carries. Looked at once a day of each year
 * that is asked for, so that a change and its taking back within one day would be missed; no zone has ever had that.
 */
export class Zone {
  readonly name: string;
  private readonly format: Intl.DateTimeFormat;
  private readonly years = new Map<number, readonly Stretch[]>();

  private constructor(name: string, format: Intl.DateTimeFormat) {
    this.name = name;
    this.format = format;
  }

  /** Null where the runtime knows no zone of this name. */
  static open(name: string): Zone | null {
    try {
      const format = new Intl.DateTimeFormat("en-US", {
        timeZone: name,
        calendar: "iso8601",
        numberingSystem: "latn",
        hourCycle: "h23",
        year: "numeric",
        month: "numeric",
        day: "numeric",
        hour: "numeric",
        minute: "numeric",
        second: "numeric",
      });
      return new Zone(name, format);
    } catch (error) {
      if (error instanceof RangeError) return null;
      throw error;
    }
  }

  /** The stretch that this instant is in. It may go on in the next one: each ends with its year. */
  stretchAt(instantMs: number): Stretch {
    const year = yearOf(Math.floor(instantMs / dayMs));
    let stretches = this.years.get(year);
    if (stretches === undefined) {
      stretches = this.look(year);
      this.years.set(year, stretches);
    }
    const found = stretches.find(({ until }) => instantMs < until);
    if (found === undefined) throw new RangeError(`no stretch of ${year} holds ${instantMs}`);
    return found;
  }

  private look(year: number): readonly Stretch[] {
    const start = daysSince1970({ year, month: 1, day: 1 }) * dayMs;
    const end = daysSince1970({ year: year + 1, month: 1, day: 1 }) * dayMs;
    const stretches: Stretch[] = [];
    let from = start;
    let offsetMs = this.offsetAt(start);
    for (let day = start; day < end; day += dayMs) {
      const next = this.offsetAt(day + dayMs);
      if (next === offsetMs) continue;
      const until = this.changeBetween(day, day + dayMs, offsetMs);
      stretches.push({ from, until, offsetMs });
      from = until;
      offsetMs = next;
    }
    // A change at the very end of the year begins the next one.
    if (from < end) stretches.push({ from, until: end, offsetMs });
    return stretches;
  }

  /** The first second that no longer has this offset. */
  private changeBetween(from: number, to: number, offsetMs: number): number {
    let before = from;
    let after = to;
    while (after - before > secondMs) {
      const middle = before + Math.floor((after - before) / 2 / secondMs) * secondMs;
      if (this.offsetAt(middle) === offsetMs) before = middle;
      else after = middle;
    }
    return after;
  }

  private offsetAt(instantMs: number): number {
    const shown = { year: 0, month: 0, day: 0, hour: 0, minute: 0, second: 0 };
    for (const { type, value } of this.format.formatToParts(instantMs)) {
      if (Object.hasOwn(shown, type)) shown[type as keyof typeof shown] = Number(value);
    }
    const time = (shown.hour * 60 + shown.minute) * 60 + shown.second;
    return daysSince1970(shown) * dayMs + time * secondMs - instantMs;
  }
}
