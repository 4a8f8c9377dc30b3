import { cycles } from "./graph-cycle.js";
import { duplicateNames, type Nearest, unknownNames, unnamedParts } from "./graph-names.js";
import type { GraphPart, Port } from "./graph-part.js";
import { portsUsedTwice } from "./graph-ports.js";

export interface Surroundings {
  /** What the node itself listens on. */
  readonly api: Port | null;
  readonly nearest: Nearest;
}

export interface Verdict {
  /** Each keeps the graph from running. */
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
}

/** Whether definitions whose own fields are sound make a graph that can run: one line for each thing that is wrong. */
export function checkGraph(parts: readonly GraphPart[], { api, nearest }: Surroundings): Verdict {
  const nothingComesIn = parts.every(({ kind }) => kind !== "inbound");
  return {
    problems: [
      ...duplicateNames(parts),
      ...unknownNames(parts, nearest),
      ...portsUsedTwice(parts, api),
      ...cycles(parts),
    ],
    warnings: [...(nothingComesIn ? ["There is no inbound, so that nothing comes in."] : []), ...unnamedParts(parts)],
  };
}
