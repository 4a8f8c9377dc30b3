import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { nextTick, openSchedule, type Schedule } from "./cron-schedule.js";

function schedule(text: string, timeZone: string): Schedule {
  const opened = openSchedule(text, timeZone);
  if (opened.kind === "refused") throw new Error(opened.reason);
  return opened.schedule;
}

/** The ticks of a stretch of time, as UTC. */
function ticks(text: string, timeZone: string, from: string, to: string): string[] {
  const found: string[] = [];
  const opened = schedule(text, timeZone);
  for (let at = nextTick(opened, Date.parse(from)); at !== null && at <= Date.parse(to); at = nextTick(opened, at)) {
    found.push(`${new Date(at).toISOString().slice(5, 16)}Z`);
  }
  return found;
}

describe("a schedule in Berlin, in the night when the clocks jump from 2:00 to 3:00", () => {
  const night = (text: string): string[] =>
    ticks(text, "Europe/Berlin", "2026-03-28T22:59:59Z", "2026-03-29T04:00:00Z");

  it("fires what lies in the jump once, at the first instant after it", () => {
    expect(night("30 2 * * *")).toEqual(["03-29T01:00Z"]);
    expect(night("*/20 2 * * *")).toEqual(["03-29T01:00Z"]);
    expect(night("0,30 2-3 * * *")).toEqual(["03-29T01:00Z", "03-29T01:30Z"]);
  });

  it("keeps an hourly or quarterly rhythm", () => {
    expect(night("0 * * * *")).toEqual(
      ["00", "01", "02", "03", "04"].map((hour) => `03-29T${hour}:00Z`).toSpliced(0, 0, "03-28T23:00Z"),
    );
    expect(ticks("*/15 * * * *", "Europe/Berlin", "2026-03-29T00:40:00Z", "2026-03-29T01:20:00Z")).toEqual([
      "03-29T00:45Z",
      "03-29T01:00Z",
      "03-29T01:15Z",
    ]);
  });

  it("fires every second hour once", () => {
    expect(night("0 */2 * * *")).toEqual(["03-28T23:00Z", "03-29T01:00Z", "03-29T02:00Z", "03-29T04:00Z"]);
  });
});

describe("a schedule in Berlin, in the night when the clocks go back from 3:00 to 2:00", () => {
  const night = (text: string): string[] =>
    ticks(text, "Europe/Berlin", "2026-10-24T21:59:59Z", "2026-10-25T05:00:00Z");

  it("fires what is there twice once, at the first of the two", () => {
    expect(night("30 2 * * *")).toEqual(["10-25T00:30Z"]);
    expect(night("*/20 2 * * *")).toEqual(["10-25T00:00Z", "10-25T00:20Z", "10-25T00:40Z"]);
    expect(night("0 3 * * *")).toEqual(["10-25T02:00Z"]);
  });

  it("keeps an hourly rhythm", () => {
    expect(night("0 * * * *")).toHaveLength(8);
    expect(night("0 0-23 * * *")).toEqual(night("0 * * * *"));
    expect(night("0 */1 * * *")).toEqual(night("0 * * * *"));
  });

  it("fires every second hour once", () => {
    expect(night("0 */2 * * *")).toEqual(["10-24T22:00Z", "10-25T00:00Z", "10-25T03:00Z", "10-25T05:00Z"]);
  });

  it("goes on to the next day when it is asked in the second of the two hours", () => {
    const next = nextTick(schedule("30 2 * * *", "Europe/Berlin"), Date.parse("2026-10-25T01:10:00Z"));
    expect(next).toBe(Date.parse("2026-10-26T01:30:00Z"));
  });
});

describe("a schedule elsewhere", () => {
  it("knows jumps of half an hour, on the southern side", () => {
    const lordHowe = (text: string, from: string, to: string): string[] => ticks(text, "Australia/Lord_Howe", from, to);
    // 2:00 becomes 2:30 on 4 October; 2:00 becomes 1:30 on 5 April.
    expect(lordHowe("15 2 * * *", "2026-10-03T12:00:00Z", "2026-10-04T12:00:00Z")).toEqual(["10-03T15:30Z"]);
    expect(lordHowe("45 1 * * *", "2026-04-04T12:00:00Z", "2026-04-05T12:00:00Z")).toEqual(["04-04T14:45Z"]);
    expect(lordHowe("*/30 * * * *", "2026-04-04T14:00:00Z", "2026-04-04T16:00:00Z")).toEqual([
      "04-04T14:30Z",
      "04-04T15:00Z",
      "04-04T15:30Z",
      "04-04T16:00Z",
    ]);
  });

  it("knows a day that a zone left out: Samoa had no 30 December in 2011", () => {
    expect(ticks("0 12 * * *", "Pacific/Apia", "2011-12-29T00:00:00Z", "2012-01-01T00:00:00Z")).toEqual([
      "12-29T22:00Z",
      "12-30T10:00Z",
      "12-30T22:00Z",
      "12-31T22:00Z",
    ]);
  });

  it("has the ends of years in it", () => {
    expect(ticks("59 59 23 31 12 *", "Asia/Kolkata", "2026-01-01T00:00:00Z", "2028-01-01T00:00:00Z")).toEqual([
      "12-31T18:29Z",
      "12-31T18:29Z",
    ]);
  });

  it("is refused where the zone is unknown", () => {
    expect(openSchedule("* * * * *", "Europe/Atlantis")).toEqual({
      kind: "refused",
      reason: 'There is no time zone "Europe/Atlantis".',
    });
  });
});

/** What the clock on the wall shows, as if it hung in UTC, by another way than the schedule's own. */
function wall(timeZone: string): (instant: number) => number {
  const format = new Intl.DateTimeFormat("sv-SE", { timeZone, dateStyle: "short", timeStyle: "medium" });
  return (instant) => Date.parse(`${format.format(instant).replace(" ", "T")}Z`);
}

const dayMs = 24 * 60 * 60 * 1_000;

const zones = [
  "Europe/Berlin",
  "America/New_York",
  "Australia/Lord_Howe",
  "America/Santiago",
  "Africa/Casablanca",
  "UTC",
];
const year = { min: Date.parse("2026-01-01T00:00:00Z"), max: Date.parse("2027-12-31T00:00:00Z") };
const anyTime = fc.record({ hour: fc.nat(23), minute: fc.nat(59), zone: fc.constantFrom(...zones) });

describe("every schedule", () => {
  it("of one time a day fires once on each day of two years, at that time or just after a jump over it", () => {
    fc.assert(
      fc.property(anyTime, ({ hour, minute, zone }) => {
        const daily = schedule(`${minute} ${hour} * * *`, zone);
        const shown = wall(zone);
        const days = new Set<number>();
        for (let at = nextTick(daily, year.min); at !== null && at < year.max; at = nextTick(daily, at)) {
          const seen = shown(at);
          const day = Math.floor(seen / dayMs);
          const wanted = day * dayMs + (hour * 60 + minute) * 60_000;
          expect(seen === wanted || (shown(at - 1_000) < wanted && wanted < seen)).toBe(true);
          expect(days.has(day)).toBe(false);
          days.add(day);
        }
        expect(days.size).toBeGreaterThanOrEqual(728);
      }),
      { numRuns: 30 },
    );
  });

  it("has no tick between an instant and its next one, and finds it from anywhere in between", () => {
    const texts = ["*/7 * * * *", "5 */3 * * *", "*/20 1-3 * * *", "0 0 L * *", "30 2 * * SUN", "*/40 * * * * *"];
    fc.assert(
      fc.property(
        fc.constantFrom(...texts),
        fc.constantFrom(...zones),
        fc.integer(year),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (text, zone, from, share) => {
          const opened = schedule(text, zone);
          const next = nextTick(opened, from);
          expect(next).toBeGreaterThan(from);
          const between = Math.min(Math.floor(from + (next! - from) * share), next! - 1);
          expect(nextTick(opened, between)).toBe(next);
        },
      ),
      { numRuns: 500 },
    );
  });

  it("that goes round the clock fires whenever the wall shows its minute, and only then", () => {
    fc.assert(
      fc.property(fc.constantFrom(...zones), fc.constantFrom(0, 15, 30, 45), fc.integer(year), (zone, minute, from) => {
        const hourly = schedule(`${minute} * * * *`, zone);
        const shown = wall(zone);
        let expected = Math.ceil((from + 1) / 60_000) * 60_000;
        while ((shown(expected) / 60_000) % 60 !== minute) expected += 60_000;
        expect(nextTick(hourly, from)).toBe(expected);
      }),
      { numRuns: 200 },
    );
  });
});
