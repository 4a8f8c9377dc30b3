import type { FenceToken } from "../../../src/store/contract.js";
import type { AppendBatch, ClaimOrder, LaneName, QueueBook, Settlement } from "../../../src/store/queue-contract.js";
import type { SimProcess } from "./process.js";

export type Method = keyof QueueBook;

/** Something asked of the database. Its arguments are those of the book's method. */
export interface BookRequest {
  readonly id: number;
  readonly process: SimProcess;
  readonly method: Method;
  readonly args: readonly unknown[];
  /** Which claim a settlement of a lane means, by the request that made it. */
  readonly claims: ReadonlyMap<number, number>;
}

const reads: readonly Method[] = ["findKeys", "steered", "lanes", "peek", "deadLetters", "deadLetter"];

export function isRead({ method }: { readonly method: Method }): boolean {
  return reads.includes(method);
}

export function fenceOf({ args }: BookRequest): FenceToken | null {
  const [first] = args;
  return typeof first === "object" && first !== null && "epoch" in first ? (first as FenceToken) : null;
}

export function claimOrderOf({ args }: BookRequest): ClaimOrder {
  return args[1] as ClaimOrder;
}

export function settlementsOf({ args }: { readonly args: readonly unknown[] }): readonly Settlement[] {
  return args[1] as readonly Settlement[];
}

/** What a request adds to lanes. */
export function additionsOf({ method, args }: BookRequest): AppendBatch | null {
  if (method === "append") return args[1] as AppendBatch;
  return method === "settle" || method === "redrive" ? (args[2] as AppendBatch | null) : null;
}

interface Footprint {
  readonly lanes: ReadonlySet<number>;
  readonly places: ReadonlySet<string>;
  readonly all: boolean;
}

/** The rows that a write locks until it commits. */
function footprintOf(request: BookRequest, idOf: (name: LaneName) => number | null): Footprint {
  const { method, args } = request;
  const additions = additionsOf(request);
  const places = new Set(additions?.messages.map(({ lane, position }) => `${lane}/${position}`));
  const lanes = new Set<number>(additions?.waking);
  if (method === "claim") for (const { lane } of claimOrderOf(request).wishes) lanes.add(lane);
  if (method === "settle") for (const { lane } of settlementsOf(request)) lanes.add(lane);
  if (method === "rest" || method === "renew" || method === "takeSteered") {
    for (const lane of args[1] as readonly number[]) lanes.add(lane);
  }
  if (method === "openLanes") addNamed(lanes, args[2] as readonly LaneName[], idOf);
  if (method === "setPaused") addNamed(lanes, [args[1] as LaneName], idOf);
  return { lanes, places, all: method === "recover" || method === "sweep" };
}

function addNamed(lanes: Set<number>, names: readonly LaneName[], idOf: (name: LaneName) => number | null): void {
  for (const name of names) {
    const id = idOf(name);
    if (id !== null) lanes.add(id);
  }
}

/**
 * Whether `later` has to wait for `earlier`, which has written and not committed yet. One that scans waits for rows which it
 * would change as they were: a lane that is being claimed or put to rest has nothing in flight, as far as it can see.
 */
export function waitsFor(later: BookRequest, earlier: BookRequest, idOf: (name: LaneName) => number | null): boolean {
  const mine = footprintOf(later, idOf);
  const theirs = footprintOf(earlier, idOf);
  if (mine.all) return theirs.all || ["settle", "renew", "takeSteered", "setPaused"].includes(earlier.method);
  if (theirs.all) return mine.lanes.size > 0;
  return (
    [...mine.lanes].some((lane) => theirs.lanes.has(lane)) || [...mine.places].some((place) => theirs.places.has(place))
  );
}
