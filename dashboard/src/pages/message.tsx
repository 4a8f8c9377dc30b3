import { useState } from "preact/hooks";
import type { Account } from "../api/message-answers.js";
import { useReading } from "../api/reading.js";
import { useMay } from "../api/session.js";
import { hrefTo } from "../layout/route.js";
import { Facts } from "../parts/facts.js";
import { Name } from "../parts/name.js";
import { ErrorNote, Freshness, Loading } from "../parts/notes.js";
import { PageHead, Panel } from "../parts/panel.js";
import { Time } from "../parts/when.js";
import { visible } from "../text/visible.js";
import { formatBytes } from "../time/format.js";
import { MessageBody } from "./message-body.js";
import { MessageJourney } from "./message-journey.js";
import { MessageReplay } from "./message-replay.js";
import { Statuses } from "./message-statuses.js";

export function MessageDetail({ id }: { readonly id: string }) {
  const message = useReading<Account>(`/messages/${encodeURIComponent(id)}`);
  const mayReplay = useMay("replay");
  const mayRead = useMay("messages:read");
  const [replaying, setReplaying] = useState(false);
  const { data } = message;
  const title = data === undefined || data.type === "" ? `Message ${id}` : `${visible(data.type)} · ${id}`;
  return (
    <>
      <PageHead title={title}>
        <a class="button" href={hrefTo("/messages")}>
          All messages
        </a>
        {data !== undefined && mayReplay ? (
          <button type="button" class="button button-primary" onClick={() => setReplaying(true)}>
            Replay…
          </button>
        ) : null}
      </PageHead>
      <ErrorNote error={message.error} />
      {data === undefined && message.error === undefined ? <Loading /> : null}
      {data === undefined ? null : (
        <>
          <About message={data} />
          <Panel title="What became of it" aside={<Freshness reading={message} />}>
            <MessageJourney message={data} />
          </Panel>
          {mayRead ? <MessageBody message={data} /> : null}
          {replaying ? <MessageReplay message={data} onClose={() => setReplaying(false)} /> : null}
        </>
      )}
    </>
  );
}

function About({ message }: { readonly message: Account }) {
  const { connection, control_id: control, replay_of: of, ack } = message;
  return (
    <Panel title="Message" aside={<Statuses of={message.statuses} />}>
      <Facts
        facts={[
          ["Received", <Time at={message.received_at} precise />],
          [
            "Came in by",
            <a href={hrefTo("/messages", [], { connection })}>
              <Name of={connection} />
            </a>,
          ],
          ["Control id", control === "" ? null : <Name of={control} mono />],
          ["Size", formatBytes(message.size)],
          ["Its sender was answered", ack],
          ["Repeats message", of === null ? null : <a href={hrefTo("/messages", [of])}>{of}</a>],
        ]}
      />
    </Panel>
  );
}
