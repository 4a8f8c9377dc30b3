import type { EventCursor, EventFeed, EventReading, StoredEvent } from "../jobs/event-feed.js";
import { keepAlive, sentEvent, signedOut } from "./server-sent.js";

export interface EventStreamParts {
  readonly feed: EventFeed;
  /** What was read for the listener's cursor before the first byte. */
  readonly first: EventReading;
  /** Where the listener wants to go on; null where it begins. */
  readonly from: EventCursor | null;
  /** Nobody listens any more, or this node closes. */
  readonly signal: AbortSignal;
  /** Whoever listens may do so no more. */
  readonly accessEnded: AbortSignal;
  readonly keepAliveMs: number;
  /** Told when a piece is handed over, and when it was taken. */
  readonly stalled: (isStalled: boolean) => void;
}

/** Nobody is told when the database is back: it is asked now and then. */
const awayMs = 1_000;

/**
 * What a listener hears, piece by piece, in the form of server-sent events. It pulls: while the connection takes nothing,
 * nothing is read for it, and nothing is kept.
 */
export async function* eventStream(parts: EventStreamParts): AsyncGenerator<string, void> {
  const { feed, first, from, keepAliveMs, stalled } = parts;
  const signal = AbortSignal.any([parts.signal, parts.accessEnded]);
  using _following = feed.follow();
  const isReset = first.kind === "reset";
  let cursor: EventCursor = isReset || from === null ? { generation: first.generation, id: lastOf(first) } : from;
  const say = function* (text: string): Generator<string, void> {
    stalled(true);
    yield text;
    stalled(false);
  };
  if (isReset && from !== null) {
    // A greeting with a cursor would be taken for the last that was heard: cut off after it, the listener would never be told to begin anew.
    yield* say(sentEvent("hello", {}));
    yield* say(resetOf(cursor));
  } else yield* say(helloOf(cursor));
  while (!signal.aborted) {
    const reading = await feed.after(cursor).catch(() => null);
    if (reading === null) {
      // The database is away. The connection stands, and goes on where it was.
      await feed.rest(Math.min(awayMs, keepAliveMs), signal);
      if (!signal.aborted) yield* say(keepAlive);
    } else if (reading.kind === "reset") {
      cursor = { generation: reading.generation, id: reading.last };
      yield* say(resetOf(cursor));
    } else if (reading.events.length > 0) {
      const { generation } = reading;
      const last = reading.events.at(-1)?.id ?? cursor.id;
      yield* say(reading.events.map((event) => eventOf(generation, event)).join(""));
      cursor = { generation, id: last };
    } else if (!(await feed.advanced(cursor, keepAliveMs, signal))) {
      if (!signal.aborted) yield* say(keepAlive);
    }
  }
  if (!parts.signal.aborted) yield* say(signedOut);
}

const lastOf = (reading: EventReading): number =>
  reading.kind === "reset" ? reading.last : (reading.events.at(-1)?.id ?? 0);

const nameOf = ({ generation, id }: EventCursor): string => `${generation}-${id}`;

/** Null where it is no cursor at all. */
export function cursorOf(text: string): EventCursor | null {
  const [, generation, id] = /^([\x21-\x7e]{1,200})-(\d{1,15})$/.exec(text) ?? [];
  return generation === undefined || id === undefined ? null : { generation, id: Number(id) };
}

const helloOf = (cursor: EventCursor): string => sentEvent("hello", { cursor: nameOf(cursor) }, nameOf(cursor));

const resetOf = (cursor: EventCursor): string => sentEvent("reset", { cursor: nameOf(cursor) }, nameOf(cursor));

function eventOf(generation: string, { id, at, kind, data, leaderEpoch }: StoredEvent): string {
  const all = { kind, at: at / 1_000, leader_epoch: Number(leaderEpoch), ...(data as object) };
  return sentEvent(kind, all, nameOf({ generation, id }));
}
