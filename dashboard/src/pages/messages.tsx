import { useState } from "preact/hooks";
import { type Connection, type Message, messageStatuses } from "../api/message-answers.js";
import { type Page, usePaged } from "../api/paged.js";
import { useReading } from "../api/reading.js";
import { useMay } from "../api/session.js";
import { hrefTo } from "../layout/route.js";
import { ChoiceFilter, FilterBar, TextFilter, TimeFilter, useFilter } from "../parts/filters.js";
import { Name } from "../parts/name.js";
import { ErrorNote, Freshness } from "../parts/notes.js";
import { Pager } from "../parts/pager.js";
import { PageHead, Panel } from "../parts/panel.js";
import { Table } from "../parts/table.js";
import { Time } from "../parts/when.js";
import { formatBytes } from "../time/format.js";
import { BulkReplay } from "./bulk-replay.js";
import { MessageDetail } from "./message.js";
import { MessageSend } from "./message-send.js";
import { Statuses } from "./message-statuses.js";
import type { PageProps } from "./page.js";

export function Messages({ rest: [id] }: PageProps) {
  return id === undefined ? <MessageList /> : <MessageDetail key={id} id={id} />;
}

const filterNames = ["connection", "type", "control_id", "status", "text", "since", "until"] as const;

/** Only what is set: the API takes an empty filter for one that is wrong. */
function useMessageFilter(): Readonly<Record<string, string>> {
  const filters = filterNames.map((name) => [name, useFilter(name)] as const);
  return Object.fromEntries(filters.filter(([, value]) => value !== ""));
}

function MessageList() {
  const filter = useMessageFilter();
  const messages = usePaged<Message>("/messages", { ...filter, limit: 50 });
  const connections = useReading<Page<Connection>>("/connections", { limit: 1000 }, 0).data?.items ?? [];
  const inbound = connections.filter(({ direction }) => direction === "inbound").map(({ name }) => name);
  const isMore = messages.older !== undefined;
  const isFiltered = Object.keys(filter).length > 0;
  return (
    <>
      <PageHead title="Messages" says="All that the engine has taken in, and what became of it.">
        <Buttons filter={filter} connections={connections} onDone={messages.again} />
      </PageHead>
      <ErrorNote error={messages.error} />
      <FilterBar>
        <ChoiceFilter name="connection" label="Came in by" options={inbound} />
        <ChoiceFilter name="status" label="Status" options={messageStatuses} />
        <TextFilter name="type" label="Type" placeholder="ADT or ADT^A01" />
        <TextFilter name="control_id" label="Control id" />
        <TextFilter name="text" label="Words in it" placeholder="whole words" />
        <TimeFilter name="since" label="Since" />
        <TimeFilter name="until" label="Before" />
      </FilterBar>
      <Panel title="Newest first" aside={<Freshness reading={messages} />} flush>
        <Table
          caption="Messages"
          rows={messages.items}
          rowKey={({ id }) => id}
          empty={isMore ? "None among these" : isFiltered ? "No message is like that" : "No messages yet"}
          {...(isMore ? { emptySays: "There are older ones to look through: take the next page." } : {})}
          columns={[
            { title: "Message", cell: ({ id }) => <a href={hrefTo("/messages", [id])}>{id}</a> },
            { title: "Received", cell: ({ received_at: at }) => <Time at={at} /> },
            { title: "Came in by", cell: ({ connection }) => <Name of={connection} /> },
            {
              title: "Type",
              cell: ({ type }) => (type === "" ? <span class="faint">–</span> : <Name of={type} mono />),
            },
            { title: "Control id", cell: (message) => <Identity message={message} /> },
            { title: "Size", align: "end", cell: ({ size }) => <span class="num">{formatBytes(size)}</span> },
            { title: "Status", cell: ({ statuses }) => <Statuses of={statuses} /> },
          ]}
        />
      </Panel>
      <Pager paged={messages} />
    </>
  );
}

function Identity({ message: { control_id: id, replay_of: of } }: { readonly message: Message }) {
  return (
    <>
      {id === "" ? <span class="faint">–</span> : <Name of={id} mono />}
      {of === null ? null : (
        <div class="muted">
          repeats <a href={hrefTo("/messages", [of])}>{of}</a>
        </div>
      )}
    </>
  );
}

interface ButtonsProps {
  readonly filter: Readonly<Record<string, string>>;
  readonly connections: readonly Connection[];
  readonly onDone: () => void;
}

function Buttons({ filter, connections, onDone }: ButtonsProps) {
  const may = useMay("replay");
  const [open, setOpen] = useState<"send" | "replay">();
  if (!may) return null;
  const close = (): void => {
    setOpen(undefined);
    onDone();
  };
  const isFiltered = Object.keys(filter).length > 0;
  return (
    <>
      <button
        type="button"
        class="button"
        disabled={!isFiltered}
        title={isFiltered ? "" : "Set a filter first: everything at once is never what somebody meant"}
        onClick={() => setOpen("replay")}
      >
        Replay these…
      </button>
      {connections.some(({ direction }) => direction === "inbound") ? (
        <button type="button" class="button button-primary" onClick={() => setOpen("send")}>
          Send a message…
        </button>
      ) : null}
      {open === "send" ? <MessageSend connections={connections} onClose={close} /> : null}
      {open === "replay" ? <BulkReplay filter={filter} connections={connections} onClose={close} /> : null}
    </>
  );
}
