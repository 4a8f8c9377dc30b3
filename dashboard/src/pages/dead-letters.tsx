import { usePaged } from "../api/paged.js";
import type { Letter, Stage } from "../api/queue-answers.js";
import { useReading } from "../api/reading.js";
import { hrefTo } from "../layout/route.js";
import { ChoiceFilter, FilterBar, TextFilter, useFilter } from "../parts/filters.js";
import { Name } from "../parts/name.js";
import { ErrorNote, Freshness } from "../parts/notes.js";
import { Pager } from "../parts/pager.js";
import { PageHead, Panel } from "../parts/panel.js";
import { Table } from "../parts/table.js";
import { Ago } from "../parts/when.js";
import { formatBytes, formatCount } from "../time/format.js";
import { DeadLetter } from "./dead-letter.js";
import type { PageProps } from "./page.js";
import { Redrive, RedriveAll } from "./redrive.js";

export function DeadLetters({ rest: [id] }: PageProps) {
  return id === undefined ? <LetterList /> : <DeadLetter id={id} />;
}

function LetterList() {
  const filter = { queue: useFilter("queue"), stage: useFilter("stage"), lane: useFilter("lane") };
  const letters = usePaged<Letter>("/dead-letters", { ...filter, limit: 50 });
  const stages = useReading<{ items: Stage[] }>("/queue/stages", {}, 0).data?.items ?? [];
  const open = letters.items?.filter((letter) => letter.redriven_at === null) ?? [];
  return (
    <>
      <PageHead title="Dead letters" says="Messages that made way for those behind them, kept with the reason.">
        {open.length === 0 ? null : <RedriveAll letters={open} onDone={letters.again} />}
      </PageHead>
      <ErrorNote error={letters.error} />
      <FilterBar>
        <ChoiceFilter name="queue" label="Queue" options={[...new Set(stages.map(({ queue }) => queue))]} />
        <ChoiceFilter name="stage" label="Stage" options={[...new Set(stages.map(({ stage }) => stage))]} />
        <TextFilter name="lane" label="Lane" />
      </FilterBar>
      <Panel title="Newest first" aside={<Freshness reading={letters} />} flush>
        <Table
          caption="Dead letters"
          rows={letters.items}
          rowKey={({ id }) => id}
          empty="No dead letters"
          emptySays="Everything that was tried here either went well or is still being tried."
          rowClass={({ redriven_at: redriven }) => (redriven === null ? "" : "row-done")}
          columns={[
            { title: "Letter", cell: ({ id }) => <a href={hrefTo("/dead-letters", [id])}>{id}</a> },
            { title: "Died", cell: ({ died_at: at }) => <Ago at={at} /> },
            { title: "Reason", wide: true, cell: (letter) => <Reason letter={letter} /> },
            { title: "Attempts", align: "end", cell: ({ attempts }) => formatCount(attempts) },
            { title: "Size", align: "end", cell: ({ size }) => <span class="num">{formatBytes(size)}</span> },
            { title: "Actions", bare: true, cell: (letter) => <Redrive letter={letter} onDone={letters.again} /> },
          ]}
        />
      </Panel>
      <Pager paged={letters} />
    </>
  );
}

function Reason({ letter: { reason, queue, stage, lane } }: { readonly letter: Letter }) {
  return (
    <>
      <Name of={reason} />
      <div class="muted">
        {queue} / {stage} / <Name of={lane} mono />
      </div>
    </>
  );
}
