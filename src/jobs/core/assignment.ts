import { type Demand, suits } from "./job.js";

/** How busy somebody is who could take more. */
export interface Load {
  readonly running: number;
  /** How many it could run at a time. At least 1. */
  readonly places: number;
  /** Asked last, whatever its load: it does this only where nobody else can. */
  readonly isLastResort?: boolean;
}

/** Somebody who waits for work. */
export interface Candidate {
  readonly agent: string;
  readonly namespace: string;
  readonly capabilities: readonly string[];
  /** So many jobs at the most. */
  readonly room: number;
  readonly load: Load;
}

/** Below 0 where the first is to be asked before the second; 0 where it is the same. */
export function compareLoads(one: Load, other: Load): number {
  const last = Number(one.isLastResort === true) - Number(other.isLastResort === true);
  return last === 0 ? one.running / one.places - other.running / other.places : last;
}

interface Waiting {
  readonly place: number;
  readonly candidate: Candidate;
  load: Load;
  given: number;
}

/**
 * Who gets how many of these jobs, by the place among the candidates, who come in the order in which they have waited. Each job
 * goes to the least loaded of those whom it suits, what they were given just now included; where loads are the same, to whoever
 * has waited longest. A job that suits nobody with room is nobody's.
 */
export function assign(demands: readonly Demand[], candidates: readonly Candidate[]): ReadonlyMap<number, number> {
  const all = candidates.map((candidate, place): Waiting => ({ place, candidate, load: candidate.load, given: 0 }));
  for (const [demand, jobs] of countByKind(demands)) {
    // Sorted once for all jobs of a kind: whoever is given one is put in its new place.
    const line = all.filter((each) => hasRoom(each) && suits(demand, each.candidate)).sort(compareWaiting);
    for (let left = jobs; left > 0; left -= 1) {
      const first = line.shift();
      if (first === undefined) break;
      first.given += 1;
      first.load = { ...first.load, running: first.load.running + 1 };
      if (hasRoom(first)) line.splice(placeIn(line, first), 0, first);
    }
  }
  return new Map(all.filter(({ given }) => given > 0).map(({ place, given }) => [place, given]));
}

const hasRoom = ({ given, candidate }: Waiting): boolean => given < candidate.room;

const compareWaiting = (one: Waiting, other: Waiting): number =>
  compareLoads(one.load, other.load) || one.place - other.place;

function placeIn(line: readonly Waiting[], each: Waiting): number {
  let from = 0;
  let to = line.length;
  while (from < to) {
    const middle = (from + to) >> 1;
    if (compareWaiting(line[middle] as Waiting, each) < 0) from = middle + 1;
    else to = middle;
  }
  return from;
}

/** Those that ask the same, in the order in which the first of each came. */
function countByKind(demands: readonly Demand[]): readonly (readonly [Demand, number])[] {
  const kinds = new Map<string, [Demand, number]>();
  for (const demand of demands) {
    const kind = kindOf(demand);
    const known = kinds.get(kind);
    if (known === undefined) kinds.set(kind, [demand, 1]);
    else known[1] += 1;
  }
  return [...kinds.values()];
}

export const kindOf = ({ namespace, capabilities, pinnedAgent }: Demand): string =>
  JSON.stringify([namespace, capabilities, pinnedAgent]);
