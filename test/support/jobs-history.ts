import { type CronHistory, tickViolations } from "./jobs-ticks.js";

/**
 * What was seen of jobs from outside: what was acknowledged, what agents were handed and answered, what the streams of events
 * told, and what the tables said in the end; and the judgement on it. Pure: the history comes in, violations come out.
 *
 * Not judged, since it is not promised: how often a job is begun. Who loses its lease may have done the work already.
 */
export interface JobEvent {
  readonly id: number;
  readonly generation: string;
  /** `job.succeeded`, `reset`, ... */
  readonly kind: string;
  /** Null where it tells of something else than a job. */
  readonly jobId: string | null;
  readonly jobEpoch: number;
  readonly agent: string | null;
  readonly leaderEpoch: number;
}

/** What one listener heard, over all its connections, of what came after `from` up to `to`. */
export interface EventStream {
  readonly listener: string;
  readonly from: number;
  readonly to: number;
  readonly events: readonly JobEvent[];
}

/** A task that an agent was handed. */
export interface Handing {
  readonly agent: string;
  readonly jobId: string;
  readonly jobEpoch: number;
}

/** What an agent reported of a task, and what it was told. */
export interface ReportedTask extends Handing {
  readonly status: "succeeded" | "failed";
  /** "repeated": accepted before, which changes nothing. The library does not tell it from "accepted". */
  readonly answer: "accepted" | "repeated" | "stale" | "refused";
}

export interface JobRow {
  readonly jobId: string;
  readonly state: string;
  readonly jobEpoch: number;
  /** Null where nobody has had it yet. */
  readonly agent: string | null;
}

export interface JobsHistory {
  /** The ids of jobs whose submission was answered. */
  readonly acknowledged: readonly string[];
  readonly streams: readonly EventStream[];
  readonly handings: readonly Handing[];
  readonly reports: readonly ReportedTask[];
  /** In the end, at the same moment as `to` of the streams. */
  readonly rows: readonly JobRow[];
  readonly crons: readonly CronHistory[];
}

export interface Violation {
  readonly kind: /** Acknowledged, and not succeeded in the end. */
    | "lost"
    /** More than one of its results counted. */
    | "done_twice"
    /** A result counted though its lease had been replaced, or its job was over. */
    | "stale_accepted"
    /** An agent heard that its result counts, and it does not; or that it does not, and it does. */
    | "wrong_answer"
    /** One job_epoch, two agents; or the epoch did not count up by one. */
    | "handed_out_twice"
    /** Handed to an agent, and no event tells of it. */
    | "untold"
    /** The stream left something out, or ended too soon. */
    | "gap"
    /** The stream told the same again, or went back. */
    | "repetition"
    /** A listener was told to begin anew, or another database spoke. */
    | "reset"
    /** Told by a leader after a later one had told something. */
    | "stale_leader"
    /** What was told last and what the table says differ. */
    | "disagreement"
    | "tick_lost"
    | "tick_doubled"
    /** A tick without its job, or a job without its tick. */
    | "tick_alone";
  readonly text: string;
}

/** Empty where the history keeps every promise. */
export function violationsOf(history: JobsHistory): readonly Violation[] {
  const stories = storiesOf(history.streams[0]?.events ?? []);
  return [
    ...history.streams.flatMap(streamViolations),
    ...[...stories].flatMap(([jobId, events]) => storyViolations(jobId, events)),
    ...handingViolations(history, stories),
    ...reportViolations(history, stories),
    ...endViolations(history, stories),
    ...history.crons.flatMap(tickViolations),
  ];
}

type Stories = ReadonlyMap<string, readonly JobEvent[]>;

function storiesOf(events: readonly JobEvent[]): Stories {
  const stories = new Map<string, JobEvent[]>();
  for (const event of events) {
    if (event.jobId === null) continue;
    const story = stories.get(event.jobId);
    if (story === undefined) stories.set(event.jobId, [event]);
    else story.push(event);
  }
  return stories;
}

/** Ids count up by one, from the cursor to the end, whatever connection they came over. */
function streamViolations({ listener, from, to, events }: EventStream): readonly Violation[] {
  const found: Violation[] = [];
  const say = (kind: Violation["kind"], why: string) => found.push({ kind, text: `${listener}: ${why}` });
  let last = from;
  let latestEpoch = 0;
  for (const { id, kind, generation, leaderEpoch } of events) {
    if (kind === "reset" || generation !== events[0]?.generation) say("reset", `at ${id}, after ${last}`);
    else if (id <= last) say("repetition", `${id} came after ${last}`);
    else if (id > last + 1) say("gap", `${id} came right after ${last}`);
    last = Math.max(last, id);
    if (leaderEpoch < latestEpoch) say("stale_leader", `${id} is of epoch ${leaderEpoch}, after ${latestEpoch}`);
    latestEpoch = Math.max(latestEpoch, leaderEpoch);
  }
  if (last < to) say("gap", `it ended at ${last}, and ${to} is there`);
  return found;
}

/** One job by its events: leases count up, a result belongs to the lease that runs, and a success is the end. */
function storyViolations(jobId: string, events: readonly JobEvent[]): readonly Violation[] {
  const found: Violation[] = [];
  const say = (kind: Violation["kind"], { id, kind: told, jobEpoch }: JobEvent, why: string) =>
    found.push({ kind, text: `${jobId}: ${told} ${id} of job_epoch ${jobEpoch} ${why}` });
  let epoch = 0;
  let isLeased = false;
  let isDone = false;
  for (const event of events) {
    if (isDone) say(event.kind === "job.succeeded" ? "done_twice" : "stale_accepted", event, "came after its success");
    if (event.kind === "job.leased") {
      if (event.jobEpoch !== epoch + 1) say("handed_out_twice", event, `came after job_epoch ${epoch}`);
      if (isLeased) say("handed_out_twice", event, "came while it was leased");
    } else if (event.kind === "job.succeeded" && !isDone && (event.jobEpoch !== epoch || !isLeased)) {
      say("stale_accepted", event, `came ${isLeased ? "under" : "after"} job_epoch ${epoch}`);
    }
    isLeased = event.kind === "job.leased";
    isDone ||= event.kind === "job.succeeded";
    epoch = Math.max(epoch, event.jobEpoch);
  }
  return found;
}

function handingViolations({ handings }: JobsHistory, stories: Stories): readonly Violation[] {
  const found: Violation[] = [];
  const holders = new Map<string, string>();
  for (const handing of handings) {
    const { agent, jobId, jobEpoch } = handing;
    const before = holders.get(leaseOf(handing));
    holders.set(leaseOf(handing), agent);
    if (before !== undefined)
      found.push({ kind: "handed_out_twice", text: `${told(handing)} had been handed to ${before}` });
    const event = stories.get(jobId)?.find((one) => one.kind === "job.leased" && one.jobEpoch === jobEpoch);
    if (event?.agent !== agent) found.push({ kind: "untold", text: `${told(handing)} is told of ${event?.agent}` });
  }
  return found;
}

/** What agents were told about their results, against what the events tell. */
function reportViolations({ reports }: JobsHistory, stories: Stories): readonly Violation[] {
  const found: Violation[] = [];
  const counted = new Map<string, string>();
  for (const report of reports) {
    const { jobId, agent, jobEpoch, status, answer } = report;
    const say = (kind: Violation["kind"], why: string) => found.push({ kind, text: `${told(report)} ${why}` });
    const success = stories.get(jobId)?.find(({ kind }) => kind === "job.succeeded");
    const isCounted = success?.jobEpoch === jobEpoch && success.agent === agent;
    if (answer === "refused") say("wrong_answer", "was refused");
    if (status !== "succeeded") continue;
    if (answer === "stale" && isCounted) say("wrong_answer", "was refused as stale, and counts");
    if (answer === "repeated" && !isCounted) say("wrong_answer", "was accepted again, and does not count");
    if (answer !== "accepted") continue;
    if (!isCounted) say("stale_accepted", `was accepted, and ${success?.jobEpoch ?? "none"} counts`);
    const before = counted.get(jobId);
    if (before !== undefined) say("done_twice", `was accepted, and so was ${before}`);
    counted.set(jobId, told(report));
  }
  return found;
}

function endViolations({ acknowledged, rows, reports }: JobsHistory, stories: Stories): readonly Violation[] {
  const found: Violation[] = [];
  const byId = new Map(rows.map((row) => [row.jobId, row]));
  for (const jobId of acknowledged) {
    const state = byId.get(jobId)?.state;
    if (state !== "succeeded") found.push({ kind: "lost", text: `${jobId} is ${state ?? "not there"} in the end` });
  }
  const reported = new Set(
    reports.filter(({ status, answer }) => status === "succeeded" && answer !== "stale").map(leaseOf),
  );
  for (const { jobId, state, jobEpoch, agent } of rows) {
    const last = stories.get(jobId)?.at(-1);
    if (last?.kind !== `job.${state}` || last.jobEpoch !== jobEpoch) {
      found.push({ kind: "disagreement", text: `${jobId} is ${state} ${jobEpoch}, and ${last?.kind} was told last` });
    }
    if (state === "succeeded" && !reported.has(leaseOf({ agent: agent ?? "", jobId, jobEpoch }))) {
      found.push({
        kind: "disagreement",
        text: `${jobId} succeeded under ${jobEpoch}, and ${agent} did not report it`,
      });
    }
  }
  for (const jobId of stories.keys()) {
    if (!byId.has(jobId)) found.push({ kind: "disagreement", text: `${jobId} was told of, and is not there` });
  }
  return found;
}

const leaseOf = ({ jobId, jobEpoch }: Handing): string => `${jobId} ${jobEpoch}`;

function told({ agent, jobId, jobEpoch }: Handing): string {
  return `${jobId} under job_epoch ${jobEpoch} (${agent})`;
}
