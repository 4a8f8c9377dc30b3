import type { Checker, Violation } from "../checker.js";
import type { StreamEvent } from "../history.js";
import { groupBy } from "./groups.js";
import { isWithin, lostPeriodsOf, meets, type Period } from "./periods.js";

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
      return [...readers.values()].flatMap((heard) => demand(heard, stored, lost));
    });
  },
};

/** The generation in front of it is that of the database by then: in the end all that is stored has that of the last one. */
const numberOf = (id: string): string => id.slice(id.lastIndexOf("-") + 1);
const generationOf = (id: string): string => id.slice(0, id.lastIndexOf("-") + 1);

/** A reader of the database that is gone may come back long after, and is then told that this is another one. */
function isAnother(last: StreamEvent | undefined, { id, at }: StreamEvent, lost: readonly Period[]): boolean {
  return last !== undefined && generationOf(last.id) !== generationOf(id) && lost.some(({ from }) => from <= at);
}

/**
 * The store has all of them, in their order. A reader heard a part of that without a gap, up to the end. Of a database that is gone it
 * may have heard what nobody has any more; then it was told to begin anew.
 */
function gaps(heard: readonly StreamEvent[], stored: readonly string[], lost: readonly Period[]): readonly Violation[] {
  const found: Violation[] = [];
  const places = new Map(stored.map((id, index) => [numberOf(id), index]));
  const seen = new Set<string>();
  let last: StreamEvent | undefined;
  /** What it came back with; a greeting may be of another database already. */
  let cursor: StreamEvent | undefined;
  let place: number | null = null;
  const say = ({ stream, reader, at }: StreamEvent, why: string) =>
    found.push({ checker: name, at, text: `${stream}, ${reader}: ${why}` });
  for (const event of heard) {
    const mayBeLost = isWithin(lost, event.at) || (last !== undefined && meets(lost, { from: last.at, to: event.at }));
    const here = places.get(numberOf(event.id));
    if (event.what !== undefined) {
      if (event.what === "reset" && !mayBeLost && !isAnother(cursor, event, lost))
        say(event, `it was told to begin anew after ${last?.id}`);
      if (event.what === "reset" || place === null) place = here ?? null;
      if (event.what === "reset") cursor = event;
      last = event;
      continue;
    }
    if (mayBeLost) place = null;
    else if (seen.has(event.id)) say(event, `${event.id} came again, after ${last?.id}`);
    else if (here === undefined) say(event, `${event.id} is not in the store`);
    else if (place !== null && here < place) say(event, `${event.id} came after ${last?.id}`);
    else if (place !== null && here > place + 1) say(event, `${event.id} came right after ${last?.id}`);
    if (here !== undefined) place = here;
    seen.add(event.id);
    cursor = event;
    last = event;
  }
  const end = stored.at(-1);
  if (last !== undefined && end !== undefined && place !== stored.length - 1) {
    say(last, `it ended at ${last.id}, and ${end} is there`);
  }
  return found;
}

/** A transition that commits after a later one does so within moments. */
const outOfOrderMs = 5_000;

/**
 * Of the cluster's history each new line comes once, in the order of being seen: a transition may be seen after one with a higher id.
 * Whoever comes back with that higher id just then does not hear of it, as ADR 28 says; whoever stays hears of all.
 */
function missedLines(heard: readonly StreamEvent[], stored: readonly string[], lost: readonly Period[]): Violation[] {
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
    else if (!places.has(line.id) && lost.length === 0) say(line, `${line.id} is not in the store`);
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
    else if (!isExcused(next, lines[index - 1])) say(next, `${next.id} came, and ${id} never did`);
  }
  return found;

  function isExcused(next: StreamEvent, previous: StreamEvent = next): boolean {
    const cameBack = returns.some(({ at }) => at >= next.at && at <= next.at + outOfOrderMs);
    return cameBack || meets(lost, { from: previous.at, to: next.at });
  }
}
