import type { Checker, Violation } from "../checker.js";
import type { HistoryEvent, LeadershipEvent } from "../history.js";
import { groupBy } from "./groups.js";
import { meets, type Period, stallsOf } from "./periods.js";

const name = "epochs";

/** G2. It holds without exception, also where a failover of the database lost an election. */
export const epochs: Checker = {
  name,
  promise: "Each epoch of a role is given once, and each is higher than the one before (G2).",
  check(history) {
    const elections = history.filter((event): event is LeadershipEvent => event.kind === "elected");
    const stalls = stallsOf(history);
    return [...groupBy(elections, ({ role }) => role).values()].flatMap((own) => [
      ...givenTwice(own),
      ...goneBack(own, stalls),
      ...namedByOthers(history, own),
    ]);
  },
};

function givenTwice(elections: readonly LeadershipEvent[]): readonly Violation[] {
  return [...groupBy(elections, ({ epoch }) => epoch).values()].flatMap(([first, ...others]) =>
    others.map(({ role, epoch, by, at }) => ({
      checker: name,
      at,
      text: `${role}: epoch ${epoch} was given to ${first?.by ?? ""} and again to ${by}`,
    })),
  );
}

/** An election is told after its commit, so a process that stood still in between tells of it late. */
function goneBack(elections: readonly LeadershipEvent[], stalls: readonly Period[]): readonly Violation[] {
  const found: Violation[] = [];
  let highest: LeadershipEvent | undefined;
  for (const election of elections.toSorted((one, other) => one.at - other.at)) {
    const { role, epoch, by, at } = election;
    if (highest === undefined || BigInt(epoch) >= BigInt(highest.epoch)) highest = election;
    else if (!meets(stalls, { from: highest.at, to: at })) {
      found.push({
        checker: name,
        at,
        text: `${role}: ${by} got epoch ${epoch} after ${highest.by} got ${highest.epoch}`,
      });
    }
  }
  return found;
}

/** An epoch under which one process was elected and another one acts. */
function namedByOthers(history: readonly HistoryEvent[], elections: readonly LeadershipEvent[]): readonly Violation[] {
  const owners = new Map(elections.map(({ epoch, by }) => [epoch, by]));
  const role = elections[0]?.role;
  const told = new Set<string>();
  return history.flatMap((event): Violation[] => {
    if ((event.kind !== "gate" && event.kind !== "write") || event.role !== role) return [];
    const owner = owners.get(event.epoch);
    if (owner === undefined || owner === event.by || told.has(event.epoch)) return [];
    told.add(event.epoch);
    return [
      {
        checker: name,
        at: event.at,
        text: `${role}: epoch ${event.epoch} is ${owner}'s, and ${event.by} acts under it`,
      },
    ];
  });
}
