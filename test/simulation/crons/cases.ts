import type { MissedPolicy } from "../../../src/jobs/core/cron-plan.js";

/** What a clock on the wall shows. */
export interface WallTime {
  readonly hour: number;
  readonly minute: number;
  readonly day: number;
  /** Sunday is 0. */
  readonly weekday: number;
}

export interface CronCase {
  readonly name: string;
  readonly text: string;
  readonly zone: string;
  readonly policy: MissedPolicy;
  /** The same as the text says, by hand. */
  readonly names: (wall: WallTime) => boolean;
  /** Every hour is named: it follows absolute time. */
  readonly roundTheClock: boolean;
  /** The seconds of each such minute. */
  readonly seconds: readonly number[];
}

type Said = readonly [string, MissedPolicy, boolean, (wall: WallTime) => boolean, (readonly number[])?];

const everyThird = Array.from({ length: 20 }, (_, index) => index * 3);

const skip: MissedPolicy = { kind: "skip" };
const coalesce: MissedPolicy = { kind: "coalesce" };
const catchUp = (max: number): MissedPolicy => ({ kind: "catch_up", max });

/** Three zones whose clocks change on six different days, one of them by half an hour and on the southern side. */
const said: Readonly<Record<string, readonly Said[]>> = {
  "Europe/Berlin": [
    ["*/15 * * * *", coalesce, true, ({ minute }) => minute % 15 === 0],
    ["30 2 * * *", catchUp(5), false, ({ hour, minute }) => hour === 2 && minute === 30],
    ["*/20 1-3 * * *", skip, false, ({ hour, minute }) => hour >= 1 && hour <= 3 && minute % 20 === 0],
    ["0 */2 * * *", coalesce, false, ({ hour, minute }) => hour % 2 === 0 && minute === 0],
    ["*/3 * 12 1 * *", catchUp(10), false, ({ day, hour }) => day === 1 && hour === 12, everyThird],
  ],
  "America/New_York": [
    ["0 * * * *", catchUp(3), true, ({ minute }) => minute === 0],
    ["30 2 * * *", skip, false, ({ hour, minute }) => hour === 2 && minute === 30],
    ["15 1 * * SUN", coalesce, false, (wall) => wall.weekday === 0 && wall.hour === 1 && wall.minute === 15],
    ["*/10 1,2 * * *", catchUp(100), false, ({ hour, minute }) => (hour === 1 || hour === 2) && minute % 10 === 0],
  ],
  "Australia/Lord_Howe": [
    ["*/30 * * * *", skip, true, ({ minute }) => minute % 30 === 0],
    ["45 1 * * *", coalesce, false, ({ hour, minute }) => hour === 1 && minute === 45],
    ["15 2 * * *", catchUp(2), false, ({ hour, minute }) => hour === 2 && minute === 15],
    ["5/20 0-4/2 * * *", coalesce, false, ({ hour, minute }) => [0, 2, 4].includes(hour) && minute % 20 === 5],
  ],
};

export const zones = Object.keys(said);

export const cases: readonly CronCase[] = Object.entries(said).flatMap(([zone, crons]) =>
  crons.map(([text, policy, roundTheClock, names, seconds = [0]]) => ({
    name: `${text} in ${zone}`,
    text,
    zone,
    policy,
    names,
    roundTheClock,
    seconds,
  })),
);
