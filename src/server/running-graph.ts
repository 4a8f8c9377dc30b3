import type { Engine } from "../engine/engine.js";
import { engineRole } from "../engine/engine-role.js";
import { HoldfastError, isFailure } from "../errors.js";
import { toDatabase } from "./database-wait.js";
import { postureOrUnknown } from "./role-headers.js";
import type { ServedNode } from "./served-node.js";

type Room = ServedNode["engine"];
type Part = "engine" | "convergence" | "replaying";

/** What this node has of its graph. Its role is checked before: whoever leads it runs one, unless an application contends by itself. */
export function partOfGraph<Name extends Part>(node: ServedNode, part: Name): NonNullable<Room[Name]> {
  const found = node.engine[part];
  if (found !== null) return found;
  throw new HoldfastError("REFUSED", "This node runs no message graph: start it with `holdfast serve --config DIR`.");
}

/** A leader that has just been elected is no stranger to its role: it is not ready yet, and nobody else would be. */
async function onGraph<Result>(node: ServedNode, work: (engine: Engine) => Promise<Result>): Promise<Result> {
  try {
    return await work(partOfGraph(node, "engine"));
  } catch (error) {
    const isNotLeader = isFailure(error, "NOT_LEADER");
    if (!isNotLeader || postureOrUnknown(node, engineRole).role !== "LEADER") throw error;
    throw new HoldfastError("TOO_BUSY", "The graph is being started by its new leader: try again in a moment.", {
      cause: error,
    });
  }
}

/** A change that goes through the graph to the database, as work of this node: a drain waits for it. */
export async function changeGraph<Result>(
  node: ServedNode,
  waitMs: number,
  work: (engine: Engine) => Promise<Result>,
): Promise<Result> {
  return await node.work.run(async () => await toDatabase(node, waitMs, async () => await onGraph(node, work)));
}

/** The charset of messages that do not name theirs, as far as this node's own graph tells. */
export function charsetOfConnection(node: ServedNode, connection: string): string | undefined {
  return node.engine.engine?.graph.inbounds.get(connection)?.charset;
}
