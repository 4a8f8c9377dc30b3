import { type Job, jobStates } from "../api/job-answers.js";
import { usePaged } from "../api/paged.js";
import { useReading } from "../api/reading.js";
import { hrefTo } from "../layout/route.js";
import { Badge } from "../parts/badge.js";
import { ChoiceFilter, FilterBar, TextFilter, TimeFilter, useFilter } from "../parts/filters.js";
import { Name } from "../parts/name.js";
import { ErrorNote, Freshness } from "../parts/notes.js";
import { Pager } from "../parts/pager.js";
import { PageHead, Panel } from "../parts/panel.js";
import { Table } from "../parts/table.js";
import { Tile } from "../parts/tile.js";
import { Ago, Until } from "../parts/when.js";
import { formatCount, formatDuration } from "../time/format.js";
import { JobDetail } from "./job.js";
import { JobActions } from "./job-actions.js";
import { jobTones } from "./job-tones.js";
import type { PageProps } from "./page.js";

export function Jobs({ rest: [id] }: PageProps) {
  return id === undefined ? <JobList /> : <JobDetail id={id} />;
}

/** What an autoscaler asks for is what a person wants to know first, too. */
interface Scale {
  readonly desired_workers: number;
  readonly queue_depth: number;
  readonly oldest_seconds: number;
  readonly value: number;
}

function JobList() {
  const filter = {
    state: useFilter("state"),
    op: useFilter("op"),
    namespace: useFilter("namespace"),
    agent: useFilter("agent"),
    since: useFilter("since"),
  };
  const jobs = usePaged<Job>("/v1/jobs", { ...filter, limit: 50 });
  const scale = useReading<Scale>("/cluster/scale");
  return (
    <>
      <PageHead title="Jobs" says="Each is handed out until a result of it is accepted, once." />
      <ErrorNote error={jobs.error} />
      <Waiting scale={scale.data} />
      <FilterBar>
        <ChoiceFilter name="state" label="State" options={jobStates} />
        <TextFilter name="op" label="Operation" />
        <TextFilter name="namespace" label="Namespace" placeholder="default" />
        <TextFilter name="agent" label="Agent" />
        <TimeFilter name="since" label="Submitted since" />
      </FilterBar>
      <Panel title="Newest first" aside={<Freshness reading={jobs} />} flush>
        <Table
          caption="Jobs"
          rows={jobs.items}
          rowKey={({ job_id: id }) => id}
          empty={Object.values(filter).some((value) => value !== "") ? "No job is like that" : "No jobs yet"}
          columns={[
            { title: "Operation", wide: true, cell: (job) => <JobName job={job} /> },
            { title: "State", cell: ({ state }) => <Badge tone={jobTones[state]}>{state}</Badge> },
            { title: "Attempts", align: "end", cell: ({ attempts, max_attempts: most }) => `${attempts} / ${most}` },
            {
              title: "Agent",
              cell: ({ agent }) => (agent === null ? <span class="faint">–</span> : <Name of={agent} />),
            },
            { title: "Submitted", cell: ({ created_at: at }) => <Ago at={at} /> },
            { title: "Actions", bare: true, cell: (job) => <JobActions job={job} onDone={jobs.again} /> },
          ]}
        />
      </Panel>
      <Pager paged={jobs} />
    </>
  );
}

function Waiting({ scale }: { readonly scale: Scale | undefined }) {
  if (scale === undefined) return null;
  const { queue_depth: depth, oldest_seconds: oldest, desired_workers: wanted, value } = scale;
  return (
    <div class="tiles">
      <Tile title="Queued" href={hrefTo("/jobs", [], { state: "queued" })} value={formatCount(depth)}>
        those that wait for their time, too
      </Tile>
      <Tile title="Under way" href={hrefTo("/jobs", [], { state: "leased" })} value={formatCount(value - depth)}>
        leased by an agent
      </Tile>
      <Tile
        title="Oldest"
        href={hrefTo("/jobs", [], { state: "queued" })}
        value={oldest === 0 ? "–" : formatDuration(oldest * 1000)}
      >
        ready, and taken by nobody
      </Tile>
      <Tile title="Agents that would do" href={hrefTo("/agents")} value={formatCount(wanted)}>
        as an autoscaler is told
      </Tile>
    </div>
  );
}

function JobName({ job }: { readonly job: Job }) {
  const { job_id: id, op, namespace, error, run_at: at, state, cron } = job;
  return (
    <>
      <a href={hrefTo("/jobs", [id])}>
        <Name of={op} />
      </a>
      {namespace === "default" ? null : (
        <span class="muted">
          {" "}
          in <Name of={namespace} />
        </span>
      )}
      {cron === null ? null : (
        <span class="muted">
          {" "}
          by <a href={hrefTo("/crons", [cron])}>{cron}</a>
        </span>
      )}
      {at !== null && state === "queued" ? (
        <span class="muted">
          {" · "}
          <Until at={at} />
        </span>
      ) : null}
      <div class="faint mono">{id}</div>
      {error === null ? null : (
        <div class="row-error">
          <Name of={error} />
        </div>
      )}
    </>
  );
}
