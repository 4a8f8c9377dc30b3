import type { Checker, Violation } from "../checker.js";
import type { HistoryEvent } from "../history.js";
import { groupBy } from "./groups.js";
import { placeOf } from "./periods.js";

const name = "gates";

/** A gate was seen open at some moment from `from` to `to`. */
interface Look {
  readonly role: string;
  readonly epoch: string;
  readonly by: string;
  readonly from: number;
  readonly to: number;
}

/** Of one epoch, the two looks that say most: which is known to have been open earliest, and which latest. */
interface Span {
  readonly epoch: bigint;
  readonly earliest: Look;
  readonly latest: Look;
}

/**
 * G3, by all who saw a gate open: the process itself, those who asked it over HTTP, and the outside systems that it acted on. Since a
 * look takes time, only what can be told for sure is told: that a gate was open after that of a later epoch had been.
 */
export const gates: Checker = {
  name,
  promise: "At most one gate of a role is open at a time (G3).",
  check(history) {
    const looks = history.flatMap(looksOf);
    return [...groupBy(looks, ({ role }) => role).values()].flatMap((own) => {
      const byEpoch = groupBy(own, ({ epoch }) => epoch);
      return [...[...byEpoch.values()].flatMap(sharedEpoch), ...reopened([...byEpoch.values()].map(spanOf))];
    });
  },
};

function looksOf(event: HistoryEvent): Look[] {
  if (event.kind === "gate") return [event];
  if (event.kind === "effect") {
    const { role, epoch, node, gateAt, at } = event;
    return [{ role, epoch, by: node, from: gateAt, to: at }];
  }
  if (event.kind === "poll" && event.outcome === "done" && event.primary === true && event.epoch !== undefined) {
    const { role, epoch, node, from, to } = event;
    return [{ role, epoch, by: node, from, to }];
  }
  return [];
}

function sharedEpoch(looks: readonly Look[]): readonly Violation[] {
  const [first, ...others] = looks;
  const other = others.find(({ by }) => first !== undefined && !isSame(by, first.by));
  if (first === undefined || other === undefined) return [];
  const text = `${first.role}: the gates of ${first.by} and of ${other.by} were open under the same epoch ${first.epoch}`;
  return [{ checker: name, at: other.to, text }];
}

/** Who asked over HTTP may know only the place. */
function isSame(one: string, other: string): boolean {
  return one === other || one === placeOf(other) || other === placeOf(one);
}

function spanOf(looks: readonly Look[]): Span {
  const earliest = looks.reduce((best, look) => (look.to < best.to ? look : best));
  const latest = looks.reduce((best, look) => (look.from > best.from ? look : best));
  return { epoch: BigInt(earliest.epoch), earliest, latest };
}

/** From the highest epoch down: the earliest moment at which a later gate was open is all that needs to be known. */
function reopened(spans: readonly Span[]): readonly Violation[] {
  const found: Violation[] = [];
  let later: Look | undefined;
  for (const { earliest, latest } of spans.toSorted((one, other) => (one.epoch < other.epoch ? 1 : -1))) {
    if (later !== undefined && latest.from > later.to) {
      const overlap = `at least ${(latest.from - later.to).toFixed(1)} ms after that of ${later.by} under ${later.epoch}`;
      const text = `${latest.role}: the gate of ${latest.by} under ${latest.epoch} was open ${overlap}`;
      found.push({ checker: name, at: latest.from, text });
    }
    if (later === undefined || earliest.to < later.to) later = earliest;
  }
  return found;
}
