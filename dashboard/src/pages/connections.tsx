import type { Connection } from "../api/message-answers.js";
import { usePaged } from "../api/paged.js";
import { DepthLine } from "../charts/depth-line.js";
import { usePast } from "../charts/past.js";
import { hrefTo } from "../layout/route.js";
import { Badge, type Tone } from "../parts/badge.js";
import { Name } from "../parts/name.js";
import { ErrorNote, Freshness, Note } from "../parts/notes.js";
import { Pager } from "../parts/pager.js";
import { PageHead, Panel } from "../parts/panel.js";
import { type Column, Table } from "../parts/table.js";
import { Ago, Since } from "../parts/when.js";
import { formatCount } from "../time/format.js";
import { ConnectionActions } from "./connection-actions.js";

const tones: Readonly<Record<Connection["state"], Tone>> = {
  running: "good",
  starting: "info",
  stopped: "warn",
  failed: "bad",
};

export function Connections() {
  const connections = usePaged<Connection>("/connections", { limit: 1000 });
  const { items } = connections;
  const told = items?.find(({ told_at: at }) => at !== null)?.told_at ?? null;
  const of = (direction: Connection["direction"]) => items?.filter((one) => one.direction === direction);
  return (
    <>
      <PageHead title="Connections" says="Where messages come in, and where they go out." />
      <ErrorNote error={connections.error} />
      {told === null ? null : (
        <Note>
          The leader of the engine is another node; this is what it told <Ago at={told} />.
        </Note>
      )}
      <Panel title="Inbound" aside={<Freshness reading={connections} />} flush>
        <Direction
          rows={of("inbound")}
          caption="Where messages come in"
          at={connections.at}
          onDone={connections.again}
        />
      </Panel>
      <Panel title="Outbound" flush>
        <Direction
          rows={of("outbound")}
          caption="Where messages go out"
          at={connections.at}
          onDone={connections.again}
        />
      </Panel>
      <Pager paged={connections} byName />
    </>
  );
}

interface DirectionProps {
  readonly rows: readonly Connection[] | undefined;
  readonly caption: string;
  /** When they were read. */
  readonly at: number | undefined;
  readonly onDone: () => void;
}

function Direction({ rows, caption, at, onDone }: DirectionProps) {
  const past = usePast(
    (rows ?? []).map(({ name, waiting }) => [`connection ${name}`, waiting] as const),
    at,
  );
  const isInbound = rows?.[0]?.direction === "inbound";
  const columns: Column<Connection>[] = [
    { title: "Connection", wide: true, cell: (one) => <ConnectionName connection={one} /> },
    { title: "State", cell: ({ state }) => <Badge tone={tones[state]}>{state}</Badge> },
    { title: "For", align: "end", cell: ({ since }) => <Since at={since} /> },
    { title: "Open", align: "end", cell: ({ connections }) => formatCount(connections) },
    {
      title: isInbound ? "To be handled" : "To be sent",
      align: "end",
      cell: ({ name, waiting }) => <Waiting waiting={waiting} past={past(`connection ${name}`)} />,
    },
    { title: isInbound ? "Received" : "Sent", align: "end", cell: (one) => <Counted connection={one} /> },
    { title: "Errors", align: "end", cell: (one) => <Errors connection={one} /> },
    { title: "Actions", bare: true, cell: (one) => <ConnectionActions connection={one} onDone={onDone} /> },
  ];
  return (
    <Table
      caption={caption}
      rows={rows}
      rowKey={({ name }) => name}
      empty="None"
      emptySays="The engine's graph is a folder of modules: see holdfast serve --config."
      columns={columns}
    />
  );
}

function Waiting({ waiting, past }: { readonly waiting: number; readonly past: readonly number[] }) {
  const isFlat = past.every((value) => value === 0) && waiting === 0;
  return (
    <span class="waiting">
      {isFlat ? null : <DepthLine values={[...past, waiting]} label="How many, since you began to look" />}
      {formatCount(waiting)}
    </span>
  );
}

function ConnectionName({ connection: { name, transport, reason, direction } }: { readonly connection: Connection }) {
  return (
    <>
      {direction === "inbound" ? (
        <a href={hrefTo("/messages", [], { connection: name })} title="Its messages">
          <Name of={name} />
        </a>
      ) : (
        <Name of={name} />
      )}
      <span class="faint"> {transport}</span>
      {reason === null ? null : (
        <div class="row-error">
          <Name of={reason} />
        </div>
      )}
    </>
  );
}

/** How many messages there ever were; what became of them is one hover away. */
function Counted({ connection: { direction, counts, counts_at: at } }: { readonly connection: Connection }) {
  const { received, unrouted, filtered, processed, sent, error } = counts;
  const all = direction === "inbound" ? { received, processed, filtered, unrouted, error } : { sent, error };
  const words = Object.entries(all).map(([status, count]) => `${formatCount(count)} ${status}`);
  const count = direction === "inbound" ? received : sent;
  const isUnknown = at === null && count === 0;
  return (
    <span
      class={isUnknown ? "num faint" : "num"}
      title={isUnknown ? "Nobody has put the counts together yet" : `In all: ${words.join(", ")}`}
    >
      {isUnknown ? "–" : formatCount(count)}
    </span>
  );
}

/** Those that nobody has looked after yet. */
function Errors({ connection: { name, direction, errors } }: { readonly connection: Connection }) {
  if (errors === 0) return <span class="faint">0</span>;
  const href =
    direction === "inbound"
      ? hrefTo("/messages", [], { connection: name, status: "error" })
      : hrefTo("/dead-letters", [], { queue: "engine", stage: "outbound" });
  return (
    <a class="num" href={href}>
      {formatCount(errors)}
    </a>
  );
}
