import type { Checker, Violation } from "../checker.js";
import type { StreamEvent } from "../history.js";
import { groupBy } from "./groups.js";
import { isWithin, lostPeriodsOf, mayDelay, meets, type Period } from "./periods.js";

const name = "streams";

/** Whoever reads a stream of events comes back with the last id it has seen, to any node. */
export const streams: Checker = {
  name,
  promise: "A reader that comes back with its last id misses no event and sees none twice (G7).",
  check(history) {
    const events = history.filter((event) => event.kind === "stream");
    const lost = lostPeriodsOf(history);
    return [...groupBy(events, ({ stream }) => stream).values()].flatMap((own) => {
      const stored = own.filter(({ reader }) => reader === "store").map(({ id }) => id);
      const readers = groupBy(
        own.filter(({ reader }) => reader !== "store"),
        ({ reader }) => reader,
      );
      const demand = own[0]?.stream === "cluster" ? missedLines : gaps;
      return [...readers.values()].flatMap((heard) => demand(heard, stored, lost, [...readers.values()].flat()));
    });
  },
};

/** The generation in front of it is that of the database by then: in the end all that is stored has that of the last one. */
const numberOf = (id: string): string => id.slice(id.lastIndexOf("-") + 1);
const generationOf = (id: string): string => id.slice(0, id.lastIndexOf("-") + 1);

/**
 * The store has all of them, in their order. A reader heard a part of that without a gap, up to the end: whatever happens, an id is
 * followed by the next one, or by a word that the stream begins anew. That is said only where a failover lies between, and whenever it
 * does: what is heard of another database than the last has to come after it. Of one that is gone a reader may have heard what nobody
 * has any more.
 */
function gaps(heard: readonly StreamEvent[], stored: readonly string[], lost: readonly Period[]): readonly Violation[] {
  const found: Violation[] = [];
  const places = new Map(stored.map((id, index) => [numberOf(id), index]));
  const end = stored.at(-1);
  /** The last that it has heard, or where it was told to begin. */
  let cursor: StreamEvent | undefined;
  const say = ({ stream, reader, at }: StreamEvent, why: string) =>
    found.push({ checker: name, at, text: `${stream}, ${reader}: ${why}` });
  for (const event of heard) {
    const { id, at, what } = event;
    // A greeting may be of another database already, and of one that came back it says nothing new.
    if (what === "hello" && cursor !== undefined) continue;
    if (what === "reset") {
      if (cursor === undefined || !isAnother(cursor, event, lost))
        say(event, `it was told to begin anew after ${cursor?.id}`);
    } else if (what === undefined) {
      const why = cursor === undefined ? null : wrongAfter(cursor, event);
      if (why !== null) say(event, why);
      if (!places.has(numberOf(id)) && !isWithin(lost, at)) say(event, `${id} is not in the store`);
    }
    cursor = event;
  }
  if (cursor !== undefined && end !== undefined && places.get(numberOf(cursor.id)) !== stored.length - 1) {
    say(cursor, `it ended at ${cursor.id}, and ${end} is there`);
  }
  return found;
}

/** A failover lies between the two; a node that stood still meanwhile may have told of the database that is gone a little after it. */
function isAnother(last: StreamEvent, { id, at }: StreamEvent, lost: readonly Period[]): boolean {
  const lies = (period: Period) => period.from <= at && (last.at < period.from || mayDelay(period, last.at));
  return generationOf(last.id) !== generationOf(id) && lost.some(lies);
}

/** Ids of one database count on by one. */
function wrongAfter(last: StreamEvent, { id }: StreamEvent): string | null {
  if (generationOf(last.id) !== generationOf(id))
    return `${id} came after ${last.id}, and nobody told of another database`;
  const step = Number(numberOf(id)) - Number(numberOf(last.id));
  if (step === 1) return null;
  if (step === 0) return `${id} came again`;
  return step < 0 ? `${id} came after ${last.id}` : `${id} came right after ${last.id}`;
}

/** A transition that commits after a later one does so within moments. */
const outOfOrderMs = 5_000;

/** A node reads the history every second: what one has told of for so long, all could have. */
const knownToAllMs = 2_000;

/**
 * Of the cluster's history each new line comes once, in the order of being seen: a transition may be seen after one with a higher id.
 * Whoever comes back with that higher id just then does not hear of it, as ADR 28 says; whoever stays hears of all. That it was not there
 * yet is believed only where nobody else had heard of it by then.
 */
function missedLines(
  heard: readonly StreamEvent[],
  stored: readonly string[],
  lost: readonly Period[],
  byAll: readonly StreamEvent[],
): Violation[] {
  const found: Violation[] = [];
  const places = new Map(stored.map((id, index) => [id, index]));
  const lines = heard.filter(({ what }) => what === undefined);
  const returns = heard.filter(({ what }) => what !== undefined);
  const seen = new Set<string>();
  const say = ({ stream, reader, at }: StreamEvent, why: string) =>
    found.push({ checker: name, at, text: `${stream}, ${reader}: ${why}` });
  for (const line of lines) {
    if (isWithin(lost, line.at)) continue;
    if (seen.has(line.id)) say(line, `${line.id} came again`);
    else if (!places.has(line.id)) say(line, `${line.id} is not in the store`);
    seen.add(line.id);
  }
  const placeOf = ({ id }: StreamEvent): number => places.get(id) ?? -1;
  const [first] = lines;
  const last = lines.at(-1);
  if (first === undefined || last === undefined) return found;
  for (const [place, id] of stored.entries()) {
    if (place < placeOf(first) || lines.some((line) => line.id === id)) continue;
    const index = lines.findIndex((line) => placeOf(line) > place);
    const next = lines[index];
    if (next === undefined) say(last, `it ended at ${last.id}, and ${id} is there`);
    else if (!isExcused(id, next, lines[index - 1])) say(next, `${next.id} came, and ${id} never did`);
  }
  return found;

  function isExcused(id: string, next: StreamEvent, previous: StreamEvent = next): boolean {
    if (meets(lost, { from: previous.at, to: next.at })) return true;
    const wasThere = byAll.some(
      (line) => line.id === id && line.what === undefined && line.at < next.at - knownToAllMs,
    );
    return !wasThere && returns.some(({ at }) => at >= next.at && at <= next.at + outOfOrderMs);
  }
}
