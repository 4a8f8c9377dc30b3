/** The stages of the engine's queue: what came in, what a router gave to a handler, and what goes out. */
export const stages = { ingress: "ingress", routed: "routed", outbound: "outbound" } as const;

/** Names of the graph hold no slash, so a lane can be read back. */
const divider = "/";

/** A handler gets the messages of each inbound in the order in which they came in. */
export function routedLane(inbound: string, handler: string): string {
  return `${inbound}${divider}${handler}`;
}

/** Messages of one key go out one after another. Keys share the outbound's lanes: there are as many as it has connections. */
export function outboundLane(outbound: string, key: string | null, lanes: number): string {
  return key === null || lanes <= 1 ? outbound : `${outbound}${divider}${hashOf(key) % lanes}`;
}

/** All lanes that an outbound may have. */
export function outboundLanes(outbound: string, lanes: number): readonly string[] {
  return [outbound, ...Array.from({ length: lanes <= 1 ? 0 : lanes }, (_, n) => `${outbound}${divider}${n}`)];
}

/** The connection that a lane belongs to: of the ingress and the routed stage the inbound, of the last one the outbound. */
export function connectionOf(lane: string): string {
  const at = lane.indexOf(divider);
  return at === -1 ? lane : lane.slice(0, at);
}

export function handlerOf(lane: string): string {
  return lane.slice(lane.indexOf(divider) + 1);
}

/** FNV-1a: the same key has the same lane on every node and in every version. */
function hashOf(key: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < key.length; at += 1) {
    hash = Math.imul(hash ^ key.charCodeAt(at), 0x01000193);
  }
  return hash >>> 0;
}
