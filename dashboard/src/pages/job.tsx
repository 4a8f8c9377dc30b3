import type { Job } from "../api/job-answers.js";
import { useReading } from "../api/reading.js";
import { hrefTo } from "../layout/route.js";
import { Badge } from "../parts/badge.js";
import { Facts } from "../parts/facts.js";
import { JsonView } from "../parts/json-view.js";
import { Name } from "../parts/name.js";
import { ErrorNote, Loading } from "../parts/notes.js";
import { PageHead, Panel } from "../parts/panel.js";
import { Time, Until } from "../parts/when.js";
import { visible } from "../text/visible.js";
import { formatDuration } from "../time/format.js";
import { JobActions } from "./job-actions.js";
import { jobTones } from "./job-tones.js";

export function JobDetail({ id }: { readonly id: string }) {
  const job = useReading<Job>(`/v1/jobs/${encodeURIComponent(id)}`, {}, 2000);
  const { data } = job;
  return (
    <>
      <PageHead title={data === undefined ? "Job" : visible(data.op)} says={id}>
        <a class="button" href={hrefTo("/jobs")}>
          All jobs
        </a>
        {data === undefined ? null : <JobActions job={data} onDone={job.again} />}
      </PageHead>
      <ErrorNote error={job.error} />
      {data === undefined ? job.error === undefined ? <Loading /> : null : <About job={data} />}
    </>
  );
}

const priorities = ["0, last", "1", "2", "3, first"];

function About({ job }: { readonly job: Job }) {
  const { state, agent, run_at: runAt, cron, capabilities, pinned_agent: pinned, idempotency_key: key } = job;
  return (
    <>
      <Panel title="State" aside={<Badge tone={jobTones[state]}>{state}</Badge>}>
        <Facts
          facts={[
            ["Submitted", <Time at={job.created_at} precise />],
            ["Last change", <Time at={job.updated_at} precise />],
            ["Not before", runAt === null || state !== "queued" ? null : <Until at={runAt} />],
            ["Attempts", `${job.attempts} of ${job.max_attempts}`],
            [state === "leased" ? "Agent" : "Last agent", agent === null ? null : <AgentLink agent={agent} />],
            ["Time limit of an attempt", formatDuration(job.timeout_ms)],
            ["Priority", priorities[job.priority] ?? job.priority],
            ["Namespace", <Name of={job.namespace} />],
            ["Capabilities", capabilities.length === 0 ? null : <Name of={capabilities.join(", ")} />],
            ["Only for", pinned === null ? null : <AgentLink agent={pinned} />],
            ["Cron", cron === null ? null : <a href={hrefTo("/crons", [cron])}>{cron}</a>],
            ["Idempotency key", key === null ? null : <Name of={key} mono />],
            ["Job epoch", job.job_epoch],
            ["Leader epoch", job.leader_epoch],
          ]}
        />
      </Panel>
      {job.error === null ? null : (
        <Panel title="Last error">
          <JsonView value={job.error} label="The last error" />
        </Panel>
      )}
      {job.progress === null ? null : (
        <Panel title="Progress">
          <JsonView value={job.progress} label="The progress" />
        </Panel>
      )}
      {job.result === null ? null : (
        <Panel title="Result">
          <JsonView value={job.result} label="The result" />
        </Panel>
      )}
    </>
  );
}

function AgentLink({ agent }: { readonly agent: string }) {
  return (
    <a href={hrefTo("/jobs", [], { agent })} title="Its jobs">
      <Name of={agent} />
    </a>
  );
}
