import { act, withQuery } from "../api/client.js";
import { usePaged } from "../api/paged.js";
import { type Lane, type LaneState, laneStates, type Stage } from "../api/queue-answers.js";
import { useReading } from "../api/reading.js";
import { hrefTo } from "../layout/route.js";
import { Action } from "../parts/action.js";
import { Badge, type Tone } from "../parts/badge.js";
import { ChoiceFilter, FilterBar, useFilter } from "../parts/filters.js";
import { Name } from "../parts/name.js";
import { ErrorNote, Freshness } from "../parts/notes.js";
import { Pager } from "../parts/pager.js";
import { PageHead, Panel } from "../parts/panel.js";
import { Table } from "../parts/table.js";
import { Tile } from "../parts/tile.js";
import { Duration } from "../parts/when.js";
import { visible } from "../text/visible.js";
import { formatCount, formatDuration } from "../time/format.js";
import { StageFlow } from "./queue-stages.js";

const tones: Readonly<Record<LaneState, Tone>> = {
  idle: "quiet",
  ready: "info",
  waiting: "warn",
  in_flight: "good",
  paused: "warn",
  blocked: "bad",
};

/** What waits, where, and what holds it up. */
export function Queue() {
  const stages = useReading<{ items: Stage[] }>("/queue/stages");
  const filter = { queue: useFilter("queue"), stage: useFilter("stage"), state: useFilter("state") };
  const lanes = usePaged<Lane>("/queue/lanes", filter);
  const all = stages.data?.items ?? [];
  return (
    <>
      <PageHead title="Queue" says="Messages go through the stages of a queue in lanes, each strictly in order." />
      <ErrorNote error={stages.error ?? lanes.error} />
      <Totals stages={stages.data?.items} />
      <StageFlow stages={stages.data?.items} at={stages.at} />
      <FilterBar>
        <ChoiceFilter name="queue" label="Queue" options={[...new Set(all.map(({ queue }) => queue))]} />
        <ChoiceFilter
          name="stage"
          label="Stage"
          options={[
            ...new Set(all.filter((one) => filter.queue === "" || one.queue === filter.queue).map((one) => one.stage)),
          ]}
        />
        <ChoiceFilter
          name="state"
          label="State"
          options={laneStates.map((state) => [state, state.replace("_", " ")])}
        />
      </FilterBar>
      <Panel title="Lanes" aside={<Freshness reading={lanes} />} flush>
        <Lanes
          lanes={lanes.items}
          isFiltered={Object.values(filter).some((value) => value !== "")}
          onChange={lanes.again}
        />
      </Panel>
      <Pager paged={lanes} byName />
    </>
  );
}

function Totals({ stages }: { readonly stages: readonly Stage[] | undefined }) {
  if (stages === undefined || stages.length === 0) return null;
  const sum = (pick: (stage: Stage) => number): number => stages.reduce((total, stage) => total + pick(stage), 0);
  const oldest = Math.max(0, ...stages.map((stage) => stage.oldest_seconds ?? 0));
  const [blocked, paused] = [sum((stage) => stage.blocked), sum((stage) => stage.paused)];
  return (
    <div class="tiles">
      <Tile title="Messages waiting" href={hrefTo("/queue")} value={formatCount(sum((stage) => stage.depth))}>
        in {formatCount(sum((stage) => stage.lanes))} lanes
      </Tile>
      <Tile title="Oldest" href={hrefTo("/queue")} value={oldest === 0 ? "–" : formatDuration(oldest * 1000)}>
        since it came to its lane
      </Tile>
      <Tile
        title="Blocked lanes"
        href={hrefTo("/queue", [], { state: "blocked" })}
        value={formatCount(blocked)}
        tone={blocked > 0 ? "bad" : "quiet"}
      >
        held by their head
      </Tile>
      <Tile
        title="Paused lanes"
        href={hrefTo("/queue", [], { state: "paused" })}
        value={formatCount(paused)}
        tone={paused > 0 ? "warn" : "quiet"}
      >
        by an operator
      </Tile>
    </div>
  );
}

interface LanesProps {
  readonly lanes: readonly Lane[] | undefined;
  readonly isFiltered: boolean;
  readonly onChange: () => void;
}

function Lanes({ lanes, isFiltered, onChange }: LanesProps) {
  return (
    <Table
      caption="Lanes"
      rows={lanes?.toSorted(worstFirst)}
      rowKey={({ id }) => id}
      empty={isFiltered ? "No lane is like that" : "No lanes yet"}
      emptySays="A lane is there from its first message on."
      columns={[
        { title: "Lane", wide: true, cell: (lane) => <LaneName lane={lane} /> },
        { title: "Stage", cell: ({ queue, stage }) => <span class="num muted">{`${queue} / ${stage}`}</span> },
        { title: "Depth", align: "end", cell: ({ depth }) => formatCount(depth) },
        {
          title: "Oldest",
          align: "end",
          cell: ({ oldest_seconds: oldest }) => <Duration ms={oldest === null ? null : oldest * 1000} />,
        },
        { title: "State", cell: (lane) => <State lane={lane} /> },
        { title: "Actions", bare: true, cell: (lane) => <LaneActions lane={lane} onChange={onChange} /> },
      ]}
    />
  );
}

/** Of a page: what is held up, then what is deep. */
function worstFirst(one: Lane, other: Lane): number {
  const held = (lane: Lane): number => (lane.blocked ? 2 : lane.paused || lane.attempts > 0 ? 1 : 0);
  return held(other) - held(one) || other.depth - one.depth || Number(one.id) - Number(other.id);
}

function LaneName({ lane }: { readonly lane: Lane }) {
  const { queue, stage, attempts, reclaims, last_error: error } = lane;
  const troubles = [
    attempts > 0 ? `failed ${attempts} times` : null,
    reclaims > 0 ? `in flight during ${reclaims} crashes` : null,
  ].filter((trouble) => trouble !== null);
  return (
    <>
      <a href={hrefTo("/dead-letters", [], { queue, stage, lane: lane.lane })} title="Its dead letters">
        <Name of={lane.lane} mono />
      </a>
      {troubles.length === 0 ? null : <span class="muted"> · its head {troubles.join(", ")}</span>}
      {error === null ? null : (
        <div class="row-error">
          <Name of={error} />
        </div>
      )}
    </>
  );
}

function State({ lane }: { readonly lane: Lane }) {
  const waits = lane.state === "waiting" ? ` ${formatDuration(Math.ceil(lane.wait_ms / 1000) * 1000)}` : "";
  return (
    <Badge tone={tones[lane.state]}>
      {lane.state.replace("_", " ")}
      {waits}
    </Badge>
  );
}

const acts = {
  pause: {
    verb: "Pause",
    says: "Nothing more of this lane is handed out until somebody resumes it. What its handler has begun is finished; new messages still come in and wait.",
    done: "is paused",
  },
  resume: {
    verb: "Resume",
    says: "The lane goes on. A head that waits, or holds the lane, is tried again at once.",
    done: "goes on",
  },
  skip: {
    verb: "Skip head",
    says: "The first message of this lane becomes a dead letter, and the lane goes on behind it. The messages behind it may depend on it.",
    done: "goes on behind its head, which is a dead letter now",
  },
} as const;

function LaneActions({ lane, onChange }: { readonly lane: Lane; readonly onChange: () => void }) {
  // No URL can name these two.
  if (lane.lane === "." || lane.lane === "..") return null;
  const shown = visible(lane.lane);
  const of = (name: keyof typeof acts) => {
    const { verb, says, done } = acts[name];
    const run = async (): Promise<string> => {
      const path = `/queue/lanes/${encodeURIComponent(lane.lane)}/${name}`;
      await act("POST", withQuery(path, { queue: lane.queue, stage: lane.stage }));
      onChange();
      return `Lane ${shown} ${done}.`;
    };
    return (
      <Action
        permission="control"
        verb={verb}
        label={`${verb}: lane ${shown}`}
        title={`${verb}: lane ${shown}`}
        says={<p>{says}</p>}
        danger={name === "skip"}
        run={run}
      />
    );
  };
  return (
    <>
      {lane.blocked ? of("skip") : null}
      {lane.paused || lane.blocked || lane.state === "waiting" ? of("resume") : null}
      {lane.paused ? null : of("pause")}
    </>
  );
}
