import type { EngineBook, ReferenceFailure, ReferenceVersion } from "../store/engine-contract.js";
import type { Graph } from "./graph.js";

/** A reference set as every node can see it: what was published of it, and why the last try to build it failed, if it did. */
export interface SeenReference {
  readonly name: string;
  /** Null where it was never built: messages that need it wait. */
  readonly published: ReferenceVersion | null;
  readonly failure: ReferenceFailure | null;
}

/** Those of the graph; without one, those that a leader has told of. */
export async function seenReferences(
  book: Pick<EngineBook, "referenceVersions" | "referenceFailures">,
  graph: Graph | null,
): Promise<readonly SeenReference[]> {
  const [versions, failures] = await Promise.all([book.referenceVersions(), book.referenceFailures()]);
  const names = graph?.references.keys() ?? [...versions, ...failures].map(({ name }) => name);
  return [...new Set(names)].sort().map((name) => ({
    name,
    published: versions.find((version) => version.name === name) ?? null,
    failure: failures.find((failure) => failure.name === name) ?? null,
  }));
}
