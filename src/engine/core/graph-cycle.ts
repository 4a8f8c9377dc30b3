import {
  type GraphPart,
  type InboundPart,
  isEverywhere,
  isLoopback,
  type OutboundPart,
  sameHost,
  titleOf,
} from "./graph-part.js";

/**
 * What an inbound takes in may come back to it only through an outbound that sends to a place where an inbound of the same
 * graph takes from. Whether a name leads back to this machine by way of the network cannot be told here: only addresses that
 * are this machine's on every node count, and those that the inbound itself binds.
 */
export function cycles(parts: readonly GraphPart[]): readonly string[] {
  const inbounds = parts.filter((part) => part.kind === "inbound");
  const next = stepsOf(parts, inbounds);
  const told = new Set<GraphPart>();
  return inbounds.flatMap((inbound) => {
    if (told.has(inbound)) return [];
    const way = wayBack(inbound, next);
    if (way === null) return [];
    for (const part of way) told.add(part);
    const path = [...way, inbound].map(({ name }) => name).join(" -> ");
    return [`${titleOf(inbound)} gets back what it took in (${path}), for ever: send it elsewhere.`];
  });
}

type Steps = (part: GraphPart) => readonly GraphPart[];

function stepsOf(parts: readonly GraphPart[], inbounds: readonly InboundPart[]): Steps {
  const named = new Map(parts.map((part) => [`${part.kind} ${part.name}`, part]));
  const of = (kind: string, names: readonly string[]): readonly GraphPart[] =>
    names.flatMap((name) => named.get(`${kind} ${name}`) ?? []);
  return (part) => {
    switch (part.kind) {
      case "inbound":
        return of("router", [part.router]);
      case "router":
        return of("handler", part.handlers);
      case "handler":
        return of("outbound", part.outbounds);
      case "outbound":
        return inbounds.filter((inbound) => feeds(part, inbound));
      case "reference":
        return [];
    }
  };
}

function feeds({ sendsTo: to }: OutboundPart, { takesFrom: from }: InboundPart): boolean {
  if (to === null || from === null) return false;
  if (to.kind === "folder") return from.kind === "folder" && to.path === from.path;
  if (from.kind === "folder") return false;
  if (to.port !== from.port || to.port === 0) return false;
  return sameHost(to.host, from.host) || (isEverywhere(from.host) && (isLoopback(to.host) || isEverywhere(to.host)));
}

/** The shortest, without the end that is also its start. */
function wayBack(start: InboundPart, next: Steps): readonly GraphPart[] | null {
  const cameFrom = new Map<GraphPart, GraphPart>();
  let reached: readonly GraphPart[] = [start];
  while (reached.length > 0) {
    const further: GraphPart[] = [];
    for (const part of reached) {
      for (const step of next(part)) {
        if (step === start) return pathTo(part, cameFrom);
        if (cameFrom.has(step)) continue;
        cameFrom.set(step, part);
        further.push(step);
      }
    }
    reached = further;
  }
  return null;
}

function pathTo(end: GraphPart, cameFrom: ReadonlyMap<GraphPart, GraphPart>): readonly GraphPart[] {
  const path: GraphPart[] = [];
  for (let at: GraphPart | undefined = end; at !== undefined; at = cameFrom.get(at)) path.unshift(at);
  return path;
}
