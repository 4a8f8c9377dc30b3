import { type GraphPart, type InboundPart, isEverywhere, type Port, sameHost, titleOf } from "./graph-part.js";

/** Each port that is bound twice: by two inbounds, or by an inbound and the API of the node. */
export function portsUsedTwice(parts: readonly GraphPart[], api: Port | null): readonly string[] {
  const bound: { readonly at: Port; readonly by: string }[] =
    api === null ? [] : [{ at: api, by: "the node's API has" }];
  return parts
    .filter((part) => part.kind === "inbound")
    .flatMap((inbound) => {
      const at = portOf(inbound);
      if (at === null) return [];
      const other = bound.find((each) => collide(each.at, at));
      bound.push({ at, by: `inbound ${inbound.name} (${inbound.file}) has` });
      return other === undefined
        ? []
        : [`${titleOf(inbound)} listens on port ${at.port}, which ${other.by} already: choose another.`];
    });
}

/** Port 0 is whichever is free. */
function portOf({ takesFrom }: InboundPart): Port | null {
  return takesFrom?.kind === "port" && takesFrom.port !== 0 ? takesFrom : null;
}

function collide(one: Port, other: Port): boolean {
  if (one.port !== other.port) return false;
  return isEverywhere(one.host) || isEverywhere(other.host) || sameHost(one.host, other.host);
}
