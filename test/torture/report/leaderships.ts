import { groupBy } from "../checkers/groups.js";
import { type Period, placeOf } from "../checkers/periods.js";
import type { HistoryEvent, LeadershipEvent } from "../history.js";

/** One process led one role, as it told it itself, or as its end or its successor tells. */
export interface Leadership extends Period {
  readonly role: string;
  readonly epoch: string;
  readonly by: string;
  readonly place: string;
}

/** A process that was there. */
export interface Presence extends Period {
  readonly process: string;
  readonly place: string;
}

/** From the election to the first thing that ended it: told so, the process gone, or a later epoch. */
export function leadershipsOf(history: readonly HistoryEvent[], end: number): readonly Leadership[] {
  const gone = new Map(presencesOf(history, end).map(({ process, to }) => [process, to]));
  const events = history.filter((event): event is LeadershipEvent => event.kind === "elected" || event.kind === "lost");
  return [...groupBy(events, ({ role }) => role).values()].flatMap((own) => {
    const elections = own.filter(({ kind }) => kind === "elected").toSorted((one, other) => one.at - other.at);
    return elections.map(({ role, epoch, by, at }, index): Leadership => {
      const told = own.find((event) => event.kind === "lost" && event.by === by && event.epoch === epoch);
      const ends = [told?.at, gone.get(by), elections[index + 1]?.at, end].filter((one) => one !== undefined);
      return { role, epoch, by, place: placeOf(by), from: at, to: Math.max(at, Math.min(...ends)) };
    });
  });
}

export function presencesOf(history: readonly HistoryEvent[], end: number): readonly Presence[] {
  const processes = history.filter((event) => event.kind === "process");
  return [...groupBy(processes, ({ by }) => by)].flatMap(([process, own]) => {
    const started = own.find(({ what }) => what === "started");
    const ended = own.find(({ what }) => what === "ended");
    if (started === undefined) return [];
    return [{ process, place: placeOf(process), from: started.at, to: ended?.at ?? end }];
  });
}
