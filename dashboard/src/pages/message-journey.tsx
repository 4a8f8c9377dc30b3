import type { ComponentChildren } from "preact";
import type { Account } from "../api/message-answers.js";
import { hrefTo } from "../layout/route.js";
import { Badge, type Tone } from "../parts/badge.js";
import { Name } from "../parts/name.js";
import { Time } from "../parts/when.js";
import { stepWords } from "../text/step-words.js";
import { formatDuration } from "../time/format.js";

const tones: Readonly<Record<string, Tone>> = { sent: "good", unrouted: "warn" };

interface Stop {
  readonly at: number | null;
  readonly key: string;
  readonly tone: Tone;
  readonly what: string;
  readonly lane: string;
  readonly says: ComponentChildren;
}

/** The way of a message through the graph, in the order in which it happened; where it waits comes last. */
export function MessageJourney({ message }: { readonly message: Account }) {
  return (
    <ol class="journey">
      {stopsOf(message).map(({ key, at, tone, what, lane, says }) => (
        <li key={key}>
          <span class="journey-when">
            {at === null ? <span class="muted">now</span> : <Time at={at} precise />}
            {at === null || at <= message.received_at ? null : (
              <span class="faint num">+{formatDuration((at - message.received_at) * 1000)}</span>
            )}
          </span>
          <span>
            <Badge tone={tone}>{what}</Badge>
          </span>
          <span class="journey-says">
            <Name of={lane} mono /> {says}
          </span>
        </li>
      ))}
    </ol>
  );
}

function stopsOf(message: Account): readonly Stop[] {
  const { received_at: receivedAt, connection, ack, steps, dead_letters: letters, pending } = message;
  const answered = ack === null ? "" : `answered ${ack}`;
  const past: Stop[] = [
    ...steps.map((step): Stop => {
      const says = <Name of={stepWords(step)} />;
      return {
        at: step.at,
        key: `s${step.step}`,
        tone: tones[step.kind] ?? "quiet",
        what: step.kind,
        lane: step.lane,
        says,
      };
    }),
    ...letters.map(
      (letter): Stop => ({
        at: letter.died_at,
        key: `d${letter.id}`,
        tone: "bad",
        what: "error",
        lane: letter.lane,
        says: <Death letter={letter} />,
      }),
    ),
  ];
  return [
    { at: receivedAt, key: "received", tone: "info", what: "received", lane: connection, says: answered },
    ...past.toSorted((one, other) => (one.at ?? 0) - (other.at ?? 0)),
    ...pending.map(
      ({ stage, lane, position }): Stop => ({
        at: null,
        key: `p${stage}/${lane}/${position}`,
        tone: "warn",
        what: "waits",
        lane,
        says: (
          <>
            in <a href={hrefTo("/queue", [], { stage })}>{stage}</a>, at position {position}
          </>
        ),
      }),
    ),
  ];
}

function Death({ letter }: { readonly letter: Account["dead_letters"][number] }) {
  return (
    <>
      <a href={hrefTo("/dead-letters", [letter.id])}>dead letter {letter.id}</a>: <Name of={letter.reason} />
      {letter.redriven_at === null ? null : (
        <>
          , redriven <Time at={letter.redriven_at} precise />
        </>
      )}
    </>
  );
}
