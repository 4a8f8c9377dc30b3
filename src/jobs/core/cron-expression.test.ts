import { describe, expect, it } from "vitest";
import { firstLocal } from "./cron-calendar.js";
import { type CronExpression, parseCron } from "./cron-expression.js";

function parsed(text: string): CronExpression {
  const result = parseCron(text);
  if (result.kind === "refused") throw new Error(result.reason);
  return result.expression;
}

const refusal = (text: string): string => {
  const result = parseCron(text);
  return result.kind === "refused" ? result.reason : "taken";
};

/** The first local times after the start of 2026, as they would be written down. */
function firstTimes(text: string, count: number, from = "2026-01-01T00:00:00Z"): string[] {
  const expression = parsed(text);
  const times: string[] = [];
  let at = Date.parse(from);
  while (times.length < count) {
    const local = firstLocal(expression, at);
    if (local === null) break;
    times.push(new Date(local).toISOString().slice(0, 19));
    at = local + 1_000;
  }
  return times;
}

describe("a cron expression", () => {
  it("has five fields, or six with the seconds in front", () => {
    expect(firstTimes("30 2 * * *", 2)).toEqual(["2026-01-01T02:30:00", "2026-01-02T02:30:00"]);
    expect(firstTimes("15,45 30 2 * * *", 3)).toEqual([
      "2026-01-01T02:30:15",
      "2026-01-01T02:30:45",
      "2026-01-02T02:30:15",
    ]);
  });

  it("takes lists, ranges and steps, from anywhere to the end too", () => {
    expect(parsed("5-20/5,50 8-10,22 * * *")).toMatchObject({ minutes: [5, 10, 15, 20, 50], hours: [8, 9, 10, 22] });
    expect(parsed("*/25 20/2 * * *")).toMatchObject({ minutes: [0, 25, 50], hours: [20, 22] });
  });

  it("knows months and days by their names, in any case, and Sunday by two numbers", () => {
    expect(firstTimes("0 0 * mar sat-sun", 3)).toEqual([
      "2026-03-01T00:00:00",
      "2026-03-07T00:00:00",
      "2026-03-08T00:00:00",
    ]);
    expect(firstTimes("0 0 * 3 6-7", 3)).toEqual(firstTimes("0 0 * 3 0,6", 3));
    expect(firstTimes("0 0 * * 7", 4)).toEqual(firstTimes("0 0 * * SUN", 4));
    expect(firstTimes("0 0 * * */3", 4)).toEqual(firstTimes("0 0 * * 0,3,6", 4));
  });

  it("knows the last day of a month, its last Friday and its second Tuesday", () => {
    expect(firstTimes("0 0 L * *", 3)).toEqual(["2026-01-31T00:00:00", "2026-02-28T00:00:00", "2026-03-31T00:00:00"]);
    expect(firstTimes("0 0 * * FRIL", 2)).toEqual(["2026-01-30T00:00:00", "2026-02-27T00:00:00"]);
    expect(firstTimes("0 0 * * 2#2", 2)).toEqual(["2026-01-13T00:00:00", "2026-02-10T00:00:00"]);
  });

  it("means either day where both day fields are restricted, and both where one begins with a star", () => {
    expect(firstTimes("0 0 13 * FRI", 3)).toEqual([
      "2026-01-02T00:00:00",
      "2026-01-09T00:00:00",
      "2026-01-13T00:00:00",
    ]);
    expect(firstTimes("0 0 */2 * MON", 2)).toEqual(["2026-01-05T00:00:00", "2026-01-19T00:00:00"]);
    expect(firstTimes("0 0 ? * MON", 1)).toEqual(["2026-01-05T00:00:00"]);
  });

  it("finds a leap day, also over the year that leaves it out", () => {
    expect(firstTimes("0 0 29 2 *", 2)).toEqual(["2028-02-29T00:00:00", "2032-02-29T00:00:00"]);
    expect(firstTimes("0 0 29 2 *", 1, "2096-03-01T00:00:00Z")).toEqual(["2104-02-29T00:00:00"]);
    expect(firstTimes("0 0 * 2 MON#5", 1, "2072-03-01T00:00:00Z")).toEqual(["2112-02-29T00:00:00"]);
  });

  it.each([
    ["* * * *", "it has 4 fields instead of five, or six with the seconds in front"],
    ["", "it has 0 fields instead of five, or six with the seconds in front"],
    ["60 * * * *", "minute: 60 is not between 0 and 59"],
    ["* 24 * * *", "hour: 24 is not between 0 and 23"],
    ["* * 0 * *", "day of the month: 0 is not between 1 and 31"],
    ["* * * 13 *", "month: 13 is not between 1 and 12"],
    ["* * * * 8", "day of the week: 8 is not between 0 and 7"],
    ["* 22-2 * * *", 'hour: "22-2" runs backwards; write it as two ranges with a comma'],
    ["*/0 * * * *", 'minute: the step of "*/0" is not between 1 and 59'],
    ["*/5/2 * * * *", 'minute: "*/5/2" is not understood'],
    ["1,,2 * * * *", 'minute: "" is not understood'],
    ["-5 * * * *", 'minute: "" is not understood'],
    ["? * * * *", 'minute: "?" is not understood'],
    ["* * * FOO *", 'month: "FOO" is not understood'],
    ["* * 15W * *", 'day of the month: "15W" is not understood'],
    ["* * * * MON#6", 'day of the week: the count of "MON#6" is not between 1 and 5'],
    ["0 0 30 2 *", "there is no such day in any year"],
    [`${"1,".repeat(120)}1 * * * *`, "it is longer than 200 characters"],
  ])("that makes no sense is refused with the reason: %s", (text, reason) => {
    expect(refusal(text)).toBe(reason);
  });
});
