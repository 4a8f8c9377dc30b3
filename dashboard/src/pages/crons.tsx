import type { Cron } from "../api/job-answers.js";
import { usePaged } from "../api/paged.js";
import { hrefTo } from "../layout/route.js";
import { Name } from "../parts/name.js";
import { ErrorNote, Freshness } from "../parts/notes.js";
import { Pager } from "../parts/pager.js";
import { PageHead, Panel } from "../parts/panel.js";
import { Table } from "../parts/table.js";
import { Time, Until } from "../parts/when.js";
import { CronDetail } from "./cron.js";
import { CronActions, CronState } from "./cron-actions.js";
import type { PageProps } from "./page.js";

export function Crons({ rest: [name] }: PageProps) {
  return name === undefined ? <CronList /> : <CronDetail name={name} />;
}

function CronList() {
  const crons = usePaged<Cron>("/v1/crons");
  return (
    <>
      <PageHead title="Crons" says="Jobs that are submitted by the clock, again and again." />
      <ErrorNote error={crons.error} />
      <Panel title="By name" aside={<Freshness reading={crons} />} flush>
        <Table
          caption="Crons"
          rows={crons.items}
          rowKey={({ name }) => name}
          empty="No crons"
          emptySays="They are named in the settings as [[crons]], or by code."
          rowClass={({ gone_at: gone }) => (gone === null ? "" : "row-done")}
          columns={[
            { title: "Cron", wide: true, cell: (cron) => <CronName cron={cron} /> },
            { title: "Schedule", cell: ({ schedule }) => <code class="num">{schedule}</code> },
            { title: "Time zone", cell: ({ time_zone: zone }) => <span class="num muted">{zone}</span> },
            { title: "Next", cell: ({ next_tick: at }) => <Next at={at} /> },
            { title: "State", cell: (cron) => <CronState cron={cron} /> },
            { title: "Actions", bare: true, cell: (cron) => <CronActions cron={cron} onDone={crons.again} /> },
          ]}
        />
      </Panel>
      <Pager paged={crons} byName />
    </>
  );
}

function CronName({ cron: { name, op } }: { readonly cron: Cron }) {
  return (
    <>
      <a href={hrefTo("/crons", [name])}>{name}</a>
      <div class="muted">
        <Name of={op} />
      </div>
    </>
  );
}

function Next({ at }: { readonly at: number | null }) {
  if (at === null) return <span class="faint">–</span>;
  return (
    <>
      <Until at={at} />
      <div class="faint">
        <Time at={at} />
      </div>
    </>
  );
}
