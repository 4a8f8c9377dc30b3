import { expect, it } from "vitest";
import { type CronHistory, tickViolations } from "./jobs-ticks.js";

/** Ticks at these seconds, with a job each; and the jobs of these seconds. */
function cron(ticks: readonly number[], jobs: readonly number[] = ticks): CronHistory {
  return {
    name: "secondly",
    ticks: ticks.map((second) => ({ second, jobId: `tick-${second}` })),
    jobs: jobs.map((second) => ({ second, jobId: `tick-${second}` })),
  };
}

const kindsOf = (judged: CronHistory) => tickViolations(judged).map(({ kind }) => kind);

it("a cron that fired each second, and once each, keeps its promise", () => {
  expect(kindsOf(cron([7, 8, 9]))).toEqual([]);
  expect(kindsOf(cron([]))).toEqual([]);
});

it("a tick is missed where a second is left out", () => {
  expect(kindsOf(cron([7, 9]))).toEqual(["tick_lost"]);
});

it("a tick is doubled where it was decided on twice, or has two jobs", () => {
  expect(kindsOf(cron([7, 8, 8], [7, 8]))).toEqual(["tick_doubled"]);
  expect(kindsOf(cron([7, 8, 7], [7, 8]))).toEqual(["tick_doubled"]);
  expect(kindsOf(cron([7, 8], [7, 8, 8]))).toEqual(["tick_doubled"]);
});

it("a tick needs its own job, and a job its tick", () => {
  expect(kindsOf(cron([7, 8], [7]))).toEqual(["tick_alone"]);
  expect(kindsOf(cron([7, 8], [7, 8, 9]))).toEqual(["tick_alone"]);
  const other = { ...cron([7]), jobs: [{ second: 7, jobId: "another" }] };
  expect(kindsOf(other)).toEqual(["tick_alone"]);
  expect(kindsOf({ ...cron([7], []), ticks: [{ second: 7, jobId: null }] })).toEqual(["tick_alone"]);
});
