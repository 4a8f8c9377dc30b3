import { tickViolations } from "../../support/jobs-ticks.js";
import type { Checker, Violation } from "../checker.js";
import type { HistoryEvent, JobEvent, SubmitEvent, TaskEvent } from "../history.js";
import { groupBy } from "./groups.js";
import { lostPeriodsAsToldBy, lostPeriodsOf, meets, type Period } from "./periods.js";

const name = "jobs";

/** G7 and G8, by what submitters and agents were told and by what the tables say in the end. */
export const jobs: Checker = {
  name,
  promise:
    "No submitted job is lost or doubled, one lease at a time works on it, its result counts once; each tick has one job (G7, G8).",
  check(history) {
    const lost = lostPeriodsOf(history);
    const rows = history.filter((event) => event.kind === "job");
    const byId = new Map(rows.map((row) => [row.job, row]));
    const submits = history.filter((event) => event.kind === "submit");
    const tasks = history.filter((event) => event.kind === "task");
    // Without a look at the tables in the end there is nothing to compare with.
    if (rows.length === 0 && !submits.some(({ outcome }) => outcome === "done")) return [];
    return [
      ...submissions(submits, rows, lost),
      ...leases(tasks, history),
      ...[...groupBy(tasks, ({ job }) => job)].flatMap(([job, own]) =>
        results(
          byId.get(job),
          own.filter(({ what }) => what === "reported"),
          lost,
        ),
      ),
      ...ticks(history, rows),
    ];
  },
};

function submissions(
  submits: readonly SubmitEvent[],
  rows: readonly JobEvent[],
  lost: readonly Period[],
): readonly Violation[] {
  const found: Violation[] = [];
  const rowsByKey = groupBy(rows, ({ key }) => key);
  for (const [key, tries] of groupBy(submits, ({ key }) => key)) {
    const answers = tries.filter((one) => one.outcome === "done" && !meets(lost, one));
    const own = rowsByKey.get(key) ?? [];
    const at = tries.at(-1)?.to ?? 0;
    const say = (why: string) => found.push({ checker: name, at, text: `the job of key ${key} ${why}` });
    const ids = new Set(answers.flatMap(({ id }) => (id === undefined ? [] : [id])));
    if (ids.size > 1) say(`was answered under ${[...ids].join(" and ")}`);
    if (own.length > 1) say(`is there ${own.length} times`);
    const [row] = own;
    if (answers.length > 0 && row === undefined) say("was acknowledged, and is not there");
    if (row !== undefined && ids.size === 1 && !ids.has(row.job))
      say(`was answered as ${[...ids][0]}, and is ${row.job}`);
    if (row !== undefined && row.state !== "succeeded") say(`is ${row.state} in the end`);
    if (row !== undefined && tries.every(({ outcome }) => outcome === "refused")) say("is there, and was refused");
  }
  return found;
}

/** Told by the agents: two that were handed the same lease. Handed to one of them again, it is the answer to the same request. */
function leases(tasks: readonly TaskEvent[], history: readonly HistoryEvent[]): readonly Violation[] {
  const tellers = new Set(tasks.map(({ by }) => by));
  const lost = new Map([...tellers].map((by) => [by, lostPeriodsAsToldBy(by, history)]));
  const isKept = (task: TaskEvent): boolean => !meets(lost.get(task.by) ?? [], task);
  const handed = tasks.filter((task) => task.what === "leased" && task.outcome === "done" && isKept(task));
  return [...groupBy(handed, ({ job, attempt }) => `${job} under job_epoch ${attempt}`)].flatMap(([lease, own]) => {
    const agents = new Set(own.map(({ agent }) => agent));
    if (agents.size < 2) return [];
    return [{ checker: name, at: own.at(-1)?.to ?? 0, text: `${lease} was handed to ${[...agents].join(" and ")}` }];
  });
}

/** "failed" is not the end of a job, so only successes are compared. */
function results(
  row: JobEvent | undefined,
  reports: readonly TaskEvent[],
  lost: readonly Period[],
): readonly Violation[] {
  const found: Violation[] = [];
  const successes = reports.filter(({ result }) => result !== "failed");
  const accepted = successes.filter((one) => one.outcome === "done" && !meets(lost, one));
  const attempts = new Set(accepted.map(({ attempt }) => attempt));
  const say = (report: TaskEvent, why: string) => {
    const told = `${report.job} under job_epoch ${report.attempt} (${report.agent})`;
    found.push({ checker: name, at: report.to, text: `the result of ${told} ${why}` });
  };
  const last = accepted.at(-1);
  if (attempts.size > 1 && last !== undefined) say(last, `was accepted, and so was that of ${[...attempts][0]}`);
  for (const report of accepted) {
    if (row === undefined) say(report, "was accepted, and there is no such job");
    else if (row.attempt !== report.attempt) say(report, `was accepted, and that of ${row.attempt} counts`);
    else if (report.result !== undefined && row.result !== report.result)
      say(report, `is not what is kept: ${row.result}`);
  }
  if (row?.state !== "succeeded") return found;
  const own = successes.filter(({ attempt }) => attempt === row.attempt);
  const refused = own.find(
    (report) => report.outcome === "refused" && own.every(({ outcome }) => outcome === "refused"),
  );
  if (refused !== undefined && !meets(lost, refused)) say(refused, "was refused, and counts");
  return found;
}

/** A tick and its job are one commit, so a failover that loses the tail loses both or none, and the next leader decides on it again. */
function ticks(history: readonly HistoryEvent[], rows: readonly JobEvent[]): readonly Violation[] {
  const all = history.filter((event) => event.kind === "tick");
  const known = new Set(rows.map(({ job }) => job));
  return [...groupBy(all, ({ cron }) => cron)].flatMap(([cron, own]) => {
    const decided = own.map(({ second, job }) => ({ second, jobId: job })).toSorted((a, b) => a.second - b.second);
    const kept = own.flatMap(({ second, job }) => (job !== null && known.has(job) ? [{ jobId: job, second }] : []));
    const broken = tickViolations({ name: cron, ticks: decided, jobs: kept });
    return broken.map(({ text }) => ({ checker: name, at: own.at(-1)?.at ?? 0, text }));
  });
}
