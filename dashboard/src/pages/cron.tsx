import type { Cron, Tick } from "../api/job-answers.js";
import { type Page, usePaged } from "../api/paged.js";
import { useReading } from "../api/reading.js";
import { hrefTo } from "../layout/route.js";
import { Badge, type Tone } from "../parts/badge.js";
import { Facts } from "../parts/facts.js";
import { Name } from "../parts/name.js";
import { ErrorNote, Freshness, Loading } from "../parts/notes.js";
import { Pager } from "../parts/pager.js";
import { PageHead, Panel } from "../parts/panel.js";
import { Table } from "../parts/table.js";
import { Duration, Time, Until } from "../parts/when.js";
import { formatCount } from "../time/format.js";
import { CronActions, CronState } from "./cron-actions.js";

const tones: Readonly<Record<Tick["kind"], Tone>> = {
  fired: "good",
  triggered: "info",
  coalesced: "warn",
  skipped: "warn",
};

const missedWords: Readonly<Record<Cron["missed"], string>> = {
  skip: "Skipped",
  coalesce: "One job for all of them",
  catch_up: "A job for each",
};

/** The API has no way to ask for one; a cluster has few enough to look through. */
const mostCrons = 1_000;

export function CronDetail({ name }: { readonly name: string }) {
  const crons = useReading<Page<Cron>>("/v1/crons", { limit: mostCrons });
  const ticks = usePaged<Tick>(`/v1/crons/${encodeURIComponent(name)}/history`, { limit: 50 });
  const cron = crons.data?.items.find((one) => one.name === name);
  const again = (): void => {
    crons.again();
    ticks.again();
  };
  return (
    <>
      <PageHead title={name}>
        <a class="button" href={hrefTo("/crons")}>
          All crons
        </a>
        {cron === undefined ? null : <CronActions cron={cron} onDone={again} />}
      </PageHead>
      <ErrorNote error={ticks.error ?? crons.error} />
      {cron === undefined ? crons.data === undefined ? <Loading /> : null : <About cron={cron} />}
      <Panel title="What became of its ticks" aside={<Freshness reading={ticks} />} flush>
        <Ticks ticks={ticks.items} />
      </Panel>
      <Pager paged={ticks} />
    </>
  );
}

function About({ cron }: { readonly cron: Cron }) {
  const most = cron.catch_up_max === null ? "" : `, ${formatCount(cron.catch_up_max)} at once at most`;
  return (
    <Panel title="Schedule" aside={<CronState cron={cron} />}>
      <Facts
        facts={[
          ["Schedule", <code>{cron.schedule}</code>],
          ["Time zone", cron.time_zone],
          ["Next tick", cron.next_tick === null ? null : <Until at={cron.next_tick} />],
          ["By this machine's clock", cron.next_tick === null ? null : <Time at={cron.next_tick} />],
          ["Decided on up to", <Time at={cron.last_tick} />],
          ["Operation", <Name of={cron.op} />],
          ["Ticks that were missed", `${missedWords[cron.missed]}${most}`],
          ["Named by", cron.source === "settings" ? "The settings" : "Code"],
          ["Changes of it", cron.generation],
          ["Gone since", cron.gone_at === null ? null : <Time at={cron.gone_at} />],
        ]}
      />
    </Panel>
  );
}

function Ticks({ ticks }: { readonly ticks: readonly Tick[] | undefined }) {
  return (
    <Table
      caption="Ticks, newest first"
      rows={ticks}
      rowKey={({ id }) => id}
      empty="No tick yet"
      columns={[
        { title: "Tick", cell: ({ tick }) => <Time at={tick} /> },
        { title: "Became", cell: ({ kind }) => <Badge tone={tones[kind]}>{kind}</Badge> },
        {
          title: "Decided after",
          align: "end",
          cell: ({ tick, decided_at: at }) => <Duration ms={Math.max(0, at - tick) * 1000} />,
        },
        {
          title: "Missed before",
          align: "end",
          cell: ({ missed }) => (missed === 0 ? <span class="faint">–</span> : formatCount(missed)),
        },
        {
          title: "Job",
          wide: true,
          cell: ({ job_id: id }) =>
            id === null ? (
              <span class="faint">–</span>
            ) : (
              <a class="mono" href={hrefTo("/jobs", [id])}>
                {id}
              </a>
            ),
        },
      ]}
    />
  );
}
