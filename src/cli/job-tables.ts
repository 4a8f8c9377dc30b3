import type { JobView } from "../server/job-answers.js";
import type { TimedLook } from "./cluster-tables.js";
import { formatAgo, formatMoment } from "./elapsed.js";
import { oneLine, type Paint, type Tone } from "./paint.js";
import { pairs } from "./print.js";
import { type Column, renderTable } from "./table.js";

const stateTones: Readonly<Record<JobView["state"], Tone>> = {
  queued: "warning",
  leased: "good",
  succeeded: "dim",
  failed: "bad",
  dead: "bad",
  cancelled: "dim",
};

export function renderJobs(jobs: readonly JobView[], { now, ...look }: TimedLook): readonly string[] {
  const columns: readonly Column<JobView>[] = [
    { title: "job", cell: (job) => job.job_id, tone: () => "strong", whole: true },
    { title: "op", cell: (job) => job.op },
    { title: "state", cell: (job) => job.state, tone: (job) => stateTones[job.state], whole: true },
    { title: "tries", cell: triesOf, align: "right", whole: true },
    { title: "agent", cell: (job) => job.agent ?? "-" },
    { title: "submitted", cell: (job) => formatAgo(job.created_at, now), whole: true },
    { title: "namespace", cell: (job) => job.namespace, spare: true },
    { title: "error", cell: (job) => job.error ?? "-", spare: true },
  ];
  return renderTable(columns, jobs, look);
}

export function renderJob(job: JobView, paint: Paint): readonly string[] {
  const told = (value: unknown): string => (value === null ? "-" : oneLine(JSON.stringify(value)));
  return pairs(
    [
      ["job", job.job_id],
      ["op", job.op],
      ["namespace", job.namespace],
      ["state", paint(stateTones[job.state], job.state)],
      ["priority", String(job.priority)],
      ["tries", triesOf(job)],
      ["job epoch", String(job.job_epoch)],
      ["leader epoch", String(job.leader_epoch)],
      ["agent", job.agent ?? "-"],
      ["submitted", formatMoment(job.created_at)],
      ["changed", formatMoment(job.updated_at)],
      ["not before", formatMoment(job.run_at)],
      ["progress", told(job.progress)],
      ["result", told(job.result)],
      ["error", job.error === null ? "-" : oneLine(job.error)],
    ],
    paint,
  );
}

/** Where a job stands, for whoever waits for it. */
export function jobLine(job: JobView): string {
  const by = job.agent === null ? "" : ` ${job.state === "leased" ? "by" : "with"} ${job.agent}`;
  const untouched = job.state === "queued" && job.attempts === 0 && job.run_at === null;
  const waits = untouched ? " and waits for an agent or a worker to take it" : "";
  const progress = job.progress === null ? "" : `, progress ${oneLine(JSON.stringify(job.progress)).slice(0, 200)}`;
  const error = job.error === null ? "" : `: ${oneLine(job.error).slice(0, 500)}`;
  const tries = job.attempts === 0 ? "" : ` (attempt ${job.attempts} of ${job.max_attempts})`;
  const is = job.state === "succeeded" || job.state === "failed" ? "has" : "is";
  return `${job.job_id} ${is} ${job.state}${waits}${by}${tries}${progress}${error}`;
}

const triesOf = ({ attempts, max_attempts: most }: JobView): string => `${attempts}/${most}`;
