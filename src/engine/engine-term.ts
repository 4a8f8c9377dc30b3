import type { FenceToken } from "../store/fence-token.js";
import { Connections } from "./connections.js";
import type { Accept, EngineParts } from "./engine-parts.js";
import { EngineUpkeep } from "./engine-upkeep.js";
import type { Graph } from "./graph.js";
import type { TakingIn } from "./taking-in.js";

/** What runs for one stretch of leadership, and is torn down with it. */
export interface EngineTerm {
  readonly epoch: bigint;
  readonly connections: Connections;
  readonly upkeep: EngineUpkeep;
  readonly over: AbortController;
}

/** What a term asks of its engine. */
interface TermConduct {
  readonly graph: () => Graph;
  readonly accept: (inbound: string, ...arrived: Parameters<Accept>) => ReturnType<Accept>;
  readonly outboundsChanged: () => void;
  readonly number: TakingIn["number"];
  readonly trouble: (what: string, error: unknown) => void;
}

export function openTerm(parts: EngineParts, fence: FenceToken, signal: AbortSignal, conduct: TermConduct): EngineTerm {
  const { node, book, connectionBook, openSource, openDestination, historyMs } = parts;
  const { graph, outboundsChanged, trouble } = conduct;
  const over = new AbortController();
  const connections = new Connections({
    book: connectionBook,
    graph,
    openSource: (inbound) =>
      openSource(inbound, async (arrival, ack) => await conduct.accept(inbound.name, arrival, ack)),
    openDestination,
    clock: node.clock,
    log: node.log,
    outboundsChanged,
  });
  const upkeep = new EngineUpkeep({
    book,
    connectionBook,
    fence,
    signal: AbortSignal.any([signal, over.signal]),
    clock: node.clock,
    views: () => connections.views(),
    historyMs,
    // What comes late, of a term that is over, would give numbers again that the next one has given.
    partitionOpened: (ids) => {
      if (!over.signal.aborted) conduct.number(ids, () => upkeep.openPartition());
    },
    trouble,
  });
  return { epoch: fence.epoch, connections, upkeep, over };
}
