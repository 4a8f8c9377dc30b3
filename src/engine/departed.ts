import type { Logger } from "pino";
import type { EngineBook } from "../store/engine-contract.js";
import type { FenceToken } from "../store/fence-token.js";
import type { LaneRow } from "../store/queue-contract.js";
import { connectionOf, handlerOf, stages } from "./core/lane-names.js";
import type { Graph } from "./graph.js";

export interface DepartedParts {
  readonly book: Pick<EngineBook, "departed">;
  readonly lanes: readonly Pick<LaneRow, "stage" | "lane" | "done" | "tail">[];
  readonly graph: Graph;
  readonly log: Logger;
}

const buriedAtOnce = 10_000;

/**
 * What waits for a connection or a handler that left the configuration goes to the dead letters: nobody would ever work on it,
 * and there it can be seen, edited and sent elsewhere. Answers with how many there were.
 */
export async function buryDeparted(fence: FenceToken, { book, lanes, graph, log }: DepartedParts): Promise<number> {
  const departed = lanes
    .filter(({ done, tail }) => tail > done)
    .flatMap(({ stage, lane }) => {
      const reason = departureOf(graph, stage, lane);
      return reason === null ? [] : [{ stage, lane, reason }];
    });
  let buried = 0;
  for (let more = departed.length > 0; more; ) {
    const count = await book.departed(fence, departed, buriedAtOnce);
    buried += count;
    more = count === buriedAtOnce;
  }
  if (buried > 0) {
    const lanesLeft = departed.map(({ stage, lane }) => `${stage} ${lane}`);
    log.warn(
      { messages: buried, lanes: lanesLeft },
      "messages for what left the configuration went to the dead letters",
    );
  }
  return buried;
}

/** Why nobody works on this lane any more; null where somebody does. */
export function departureOf({ inbounds, handlers, outbounds }: Graph, stage: string, lane: string): string | null {
  const connection = connectionOf(lane);
  switch (stage) {
    case stages.ingress:
      return inbounds.has(connection) ? null : `connection "${connection}" left the configuration`;
    case stages.routed:
      return handlers.has(handlerOf(lane)) ? null : `handler "${handlerOf(lane)}" left the configuration`;
    case stages.outbound:
      return outbounds.has(connection) ? null : `connection "${connection}" left the configuration`;
    default:
      return null;
  }
}
