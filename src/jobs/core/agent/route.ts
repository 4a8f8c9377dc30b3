import { type Backoff, backoffMs } from "../../../queue/core/backoff.js";

/** Where an agent finds the leader: the addresses it was given, those it was told of, and the one that it asks now. */
export interface Route {
  /** At least one. */
  readonly seeds: readonly string[];
  /** The last ones that somebody called the leader's: they may lead again when none of the seeds is there. */
  readonly told: readonly string[];
  readonly at: string;
  /** Raised by everything that changes the way: what was asked in an earlier turn, and fails, changes nothing any more. */
  readonly turn: number;
  /** Since somebody served last. */
  readonly failures: number;
  /** Nobody is asked before this, by the monotonic clock. */
  readonly restUntil: number;
}

/** What came of asking. */
export type Trip =
  | { readonly kind: "served" }
  /** `to` is null where the node knows no leader, or where one must not go. */
  | { readonly kind: "redirected"; readonly to: string | null }
  | { readonly kind: "failed" };

/** A failover takes milliseconds, so the first look comes soon. */
export const routeBackoff: Backoff = { firstMs: 50, capMs: 5_000 };

const mostTold = 8;

export function routeOf(seeds: readonly [string, ...string[]]): Route {
  return { seeds, told: [], at: seeds[0], turn: 0, failures: 0, restUntil: 0 };
}

/** The way from here on. `now` is a monotonic time, `jitter` (0 to 1) shortens the pause. */
export function afterTrip(
  route: Route,
  asked: { readonly turn: number; readonly trip: Trip; readonly now: number; readonly jitter: number },
): Route {
  const { turn, trip, now, jitter } = asked;
  if (turn !== route.turn) return route;
  if (trip.kind === "served") return route.failures === 0 ? route : { ...route, failures: 0, restUntil: 0 };
  const failures = route.failures + 1;
  const leadsOn = trip.kind === "redirected" && trip.to !== null && trip.to !== route.at ? trip.to : null;
  // Who has just been served may follow one hint at once. Two nodes that each name the other get no further than that.
  const isHop = leadsOn !== null && route.failures === 0;
  return {
    ...route,
    told: leadsOn === null ? route.told : withTold(route, leadsOn),
    at: leadsOn ?? nextOf(route),
    turn: route.turn + 1,
    failures,
    restUntil: isHop ? now : now + backoffMs(failures, routeBackoff, jitter),
  };
}

function withTold({ seeds, told }: Route, url: string): readonly string[] {
  if (seeds.includes(url)) return told;
  return [url, ...told.filter((each) => each !== url)].slice(0, mostTold);
}

function nextOf({ seeds, told, at }: Route): string {
  const all = [...seeds, ...told];
  return all[(all.indexOf(at) + 1) % all.length] ?? at;
}
